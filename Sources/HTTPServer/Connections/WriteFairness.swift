import Glibc
import NIOCore
import NIOPosix

/// Has an event loop look at its sockets between the pieces of large responses.
///
/// A loop runs the tasks that it is given until there are none, and only then looks at its sockets. When many clients take
/// large responses as fast as they are written, there is always a task, and nobody else is read from or written to. So after some
/// pieces the next ones wait for a byte to come through a pipe: it is found among all that the sockets have for the loop.
///
/// Used on its event loop only.
final class WriteFairness: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Pieces between two looks at the sockets.
    private static let share = 32

    private let wake: NIOFileHandle
    private var left = WriteFairness.share
    private var waiting = CircularBuffer<() -> Void>()

    private init(wake: NIOFileHandle) { self.wake = wake }

    deinit { try? wake.close() }

    /// Sets it up on a loop, where it lives until the loop ends.
    static func start(on loop: any EventLoop) async throws -> NIOLoopBound<WriteFairness> {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw IOError(errnoCode: errno, reason: "pipe") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let wake = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: ends[1])
        let fairness = try await loop.submit { NIOLoopBound(WriteFairness(wake: wake), eventLoop: loop) }.get()
        _ = try await NIOPipeBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(fairness.value) }
            }
            .takingOwnershipOfDescriptor(input: ends[0]).get()
        return fairness
    }

    /// Writes a piece now, or when the sockets have been looked at.
    func run(_ piece: @escaping () -> Void) {
        guard left > 0 else { return waiting.append(piece) }
        spend(piece)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        left = Self.share
        while left > 0, let piece = waiting.popFirst() { spend(piece) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The loop ends, and connections with it: what waits finds them closed.
        left = .max
        while let piece = waiting.popFirst() { piece() }
    }

    private func spend(_ piece: () -> Void) {
        left -= 1
        // What cannot be written is there already: the pipe is full of bytes that have not been read.
        if left == 0 { _ = try? wake.withUnsafeFileDescriptor { write($0, [1], 1) } }
        piece()
    }
}
