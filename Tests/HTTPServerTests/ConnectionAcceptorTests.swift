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

    private let listening = EmbeddedChannel()
    /// The event loop of the accepted connections: it is busy unless it is told to run.
    private let loop = EmbeddedEventLoop()
    private let reads = Reads()

    private func prepare(limit: Int) throws {
        let connections = ConnectionRegistry(ShareLimiter.Limits(total: limit))
        try listening.pipeline.syncOperations.addHandlers(reads, ConnectionAcceptor(connections: connections))
    }

    /// Offers connections as the socket does: as many as it accepts at a time each time that it is asked for some.
    private func accept(_ count: Int) throws -> [EmbeddedChannel] {
        try (0..<count).map { _ in
            let channel = EmbeddedChannel(loop: loop)
            try listening.writeInbound(channel as any Channel)
            return channel
        }
    }

    private func accepted() throws -> Int {
        var count = 0
        while try listening.readInbound(as: (any Channel).self) != nil { count += 1 }
        return count
    }

    @Test func `while several connections too many are being closed, no further ones are accepted`() throws {
        try prepare(limit: 1)
        listening.pipeline.read()
        #expect(reads.count == 1)
        // One is served, four are to have an error, the others are closed.
        let channels = try accept(5 + ConnectionAcceptor.mostClosing)
        #expect(try accepted() == 5)
        for _ in 0..<3 { listening.pipeline.read() }
        #expect(reads.count == 1)
        // Their event loop has time for them, at last.
        loop.run()
        listening.embeddedEventLoop.run()
        #expect(reads.count == 2)
        #expect(channels.filter(\.isActive).count <= 5)
        listening.pipeline.read()
        #expect(reads.count == 3)
    }

    @Test func `connections that are served, and few too many, hold nothing up`() throws {
        try prepare(limit: 100)
        _ = try accept(106 + ConnectionAcceptor.mostClosing - 1)
        #expect(try accepted() == 106)
        listening.pipeline.read()
        #expect(reads.count == 1)
        loop.run()
        listening.embeddedEventLoop.run()
        #expect(reads.count == 1)
    }
}
