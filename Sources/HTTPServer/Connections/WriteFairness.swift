import Glibc
import NIOCore
import NIOPosix

/// Lets an event loop poll its sockets between the pieces of large responses.
///
/// A loop runs its tasks until there are none, and only then polls its sockets. If many clients accept large responses
/// as fast as they are written, there is always a task, and all other connections starve. So after some pieces the next
/// ones wait for a byte from a pipe, which is found by polling together with all other events.
///
/// Used on its event loop only.
final class WriteFairness: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The number of pieces between two polls.
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

    /// Writes a piece now, or after the next poll.
    func run(_ piece: @escaping () -> Void) {
        guard left > 0 else { return waiting.append(piece) }
        spend(piece)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        left = Self.share
        while left > 0, let piece = waiting.popFirst() { spend(piece) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The loop ends, and its connections with it: waiting pieces find them closed.
        left = .max
        while let piece = waiting.popFirst() { piece() }
    }

    private func spend(_ piece: () -> Void) {
        left -= 1
        // If the pipe is full, its bytes have not been read yet and suffice.
        if left == 0 { _ = try? wake.withUnsafeFileDescriptor { write($0, [1], 1) } }
        piece()
    }
}
