import ConcurrencyPrimitives
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServer

struct ConnectionRegistryTests {
    private let loop = EmbeddedEventLoop()
    private let connections = ConnectionRegistry(ShareLimiter.Limits(total: 32, perClient: 4))

    /// A new connection of a client, and its fate; nil: it is served.
    private func connect(_ client: String) -> (EmbeddedChannel, ConnectionRegistry.Rejection?) {
        let channel = EmbeddedChannel(loop: loop)
        guard connections.accept(channel) else { return (channel, .closing(.total)) }
        do throws(ConnectionRegistry.Rejection) {
            try connections.admit(channel, for: client)
            return (channel, nil)
        } catch {
            return (channel, error)
        }
    }

    private func close(_ channels: [EmbeddedChannel]) {
        for channel in channels { channel.close(promise: nil) }
        loop.run()
    }

    @Test func `a client with too many connections does not keep others out while it reads its errors`() {
        var ofOne: [EmbeddedChannel] = []
        var rejections: [ConnectionRegistry.Rejection?] = []
        for _ in 0..<500 {
            let (channel, rejection) = connect("one")
            rejections.append(rejection)
            // The others have not been closed yet: their clients read the error.
            if rejection == .closing(.client) { close([channel]) } else { ofOne.append(channel) }
        }
        #expect(rejections.count { $0 == nil } == 4)
        #expect(rejections.count { $0 == .response(.client) } == 4)
        #expect(rejections.count { $0 == .closing(.client) } == 492)
        for client in 0..<7 {
            for _ in 0..<4 { #expect(connect("other \(client)").1 == nil) }
        }
        #expect(connections.count == 32)
        // All allowed connections are served. One more gets a rejection if there is room for it.
        #expect(connect("last").1 == .closing(.total))
        close(Array(ofOne.suffix(1)))
        #expect(connect("last").1 == .response(.total))
        close(ofOne)
        #expect(connections.count == 28)
        #expect(connect("last").1 == nil)
    }
}
