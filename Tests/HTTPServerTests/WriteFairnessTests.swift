import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import HTTPServer

struct WriteFairnessTests {
    /// Notes that its channel was read from.
    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        var hasRead = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { hasRead = true }
    }

    /// Pieces of which each is followed by the next at once, as for a client that reads everything immediately.
    private final class Pieces {
        let turns: WriteFairness
        let reader: Reader
        let done: EventLoopPromise<Int>
        var count = 0

        init(_ turns: WriteFairness, _ reader: Reader, _ done: EventLoopPromise<Int>) {
            (self.turns, self.reader, self.done) = (turns, reader, done)
        }

        func next(on loop: NIOIsolatedEventLoop) {
            turns.run {
                self.count += 1
                if self.reader.hasRead || self.count == 1_000_000 { return self.done.succeed(self.count) }
                loop.execute { self.next(on: loop) }
            }
        }
    }

    @Test
    func `a loop that always has another piece to write reads from its other sockets all the same`() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let turns = try await WriteFairness.start(on: loop)
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let reader = try await loop.submit { NIOLoopBound(Reader(), eventLoop: loop) }.get()
        _ = try await NIOPipeBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(reader.value) }
            }
            .takingOwnershipOfDescriptor(input: ends[0]).get()
        let count = try await loop.flatSubmit { [end = ends[1]] in
            let done = loop.makePromise(of: Int.self)
            _ = write(end, [1], 1)
            Pieces(turns.value, reader.value, done).next(on: loop.assumeIsolated())
            return done.futureResult
        }.get()
        #expect(count < 1_000_000)
        close(ends[1])
        try await group.shutdownGracefully()
    }
}
