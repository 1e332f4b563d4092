import ConcurrencyPrimitives
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServer

struct ConnectionAcceptorTests {
    /// Counts the times that the socket is asked to accept.
    private final class Reads: ChannelOutboundHandler {
        typealias OutboundIn = Never

        var count = 0

        func read(context: ChannelHandlerContext) { count += 1 }
    }

    /// Counts the connections that are closed without a response.
    private final class Refusals: RequestObserver {
        let reasons = Locked<[RequestError.Reason]>([])

        func requestRefused(_ reason: RequestError.Reason) { reasons.withLock { $0.append(reason) } }

        func requestEnded(_ record: RequestRecord) {}
    }

    private let listening = EmbeddedChannel()
    /// The event loop of the accepted connections. It is busy until the test runs it.
    private let loop = EmbeddedEventLoop()
    private let reads = Reads()
    private let refusals = Refusals()

    private let connections: ConnectionRegistry

    init() throws {
        connections = ConnectionRegistry(ShareLimiter.Limits(total: 8))
        try listening.pipeline.syncOperations.addHandlers(
            reads, ConnectionAcceptor(connections: connections, observer: refusals))
    }

    /// Offers connections as the socket does, which handles no other event while it accepts some.
    private func accept(_ count: Int) throws -> [EmbeddedChannel] {
        try (0..<count).map { _ in
            let channel = EmbeddedChannel(loop: loop)
            try listening.writeInbound(channel as any Channel)
            return channel
        }
    }

    /// The number of those that were passed on.
    private func accepted() throws -> Int {
        var count = 0
        while try listening.readInbound(as: (any Channel).self) != nil { count += 1 }
        return count
    }

    /// Has the event loop of a connection decide about it.
    private func decide(_ channel: EmbeddedChannel) {
        try? connections.admit(channel, for: nil)
        listening.embeddedEventLoop.run()
    }

    @Test func `no further connections are accepted while too many are being closed`() throws {
        listening.pipeline.read()
        #expect(reads.count == 1)
        // Eight are served, four are to have an error, the others are closed.
        let channels = try accept(12 + ConnectionAcceptor.mostClosing)
        #expect(try accepted() == 12)
        // Those that are closed without a response are counted too.
        #expect(refusals.reasons.withLock { $0 } == [.connections, .connections, .connections, .connections])
        channels.prefix(12).forEach(decide)
        for _ in 0..<3 { listening.pipeline.read() }
        #expect(reads.count == 1)
        // Their event loop has time for them, at last.
        loop.run()
        listening.embeddedEventLoop.run()
        #expect(reads.count == 2)
        listening.pipeline.read()
        #expect(reads.count == 3)
    }

    @Test func `connections that are served hold nothing up`() throws {
        for count in 1...7 {
            _ = try accept(1)
            listening.pipeline.read()
            #expect(reads.count == count)
        }
    }

    @Test func `near the limit, existing connections are decided before further ones are accepted`() throws {
        let channels = try accept(8)
        listening.pipeline.read()
        #expect(reads.count == 0)
        for channel in channels {
            #expect(reads.count == 0)
            decide(channel)
        }
        #expect(reads.count == 1)
        listening.pipeline.read()
        #expect(reads.count == 2)
        // One that is gone before is not waited for.
        let last = try accept(1)[0]
        listening.pipeline.read()
        #expect(reads.count == 2)
        last.close(promise: nil)
        loop.run()
        listening.embeddedEventLoop.run()
        #expect(reads.count == 3)
    }
}
