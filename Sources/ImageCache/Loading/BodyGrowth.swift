import Glibc
import Locking

/// How far a body has grown on disk, for a reader that follows it while it arrives.
///
/// Costs the transfer nothing until somebody ``follow()``s.
final class BodyGrowth: Sendable {
    struct Stand: Sendable {
        /// Open on the growing file, as long as the growth lives.
        var descriptor: Int32
        /// Bytes that stand there without a gap from the body's start.
        var available: Int64
        /// Goes up when the body starts over.
        var version: Int
    }

    private struct State {
        var descriptor: Int32 = -1
        var version = 0
        var isOver = false
        var followers: [AsyncStream<Stand>.Continuation] = []
        var superseded: [Int32] = []
    }

    private let state = Locked(State())

    deinit {
        state.withLock { state in
            for descriptor in state.superseded + [state.descriptor] where descriptor >= 0 { close(descriptor) }
        }
    }

    /// Every step of the growth; a slow follower sees only the newest. Ends with the load.
    func follow() -> AsyncStream<Stand> {
        let (stream, continuation) = AsyncStream.makeStream(of: Stand.self, bufferingPolicy: .bufferingNewest(1))
        let isOver = state.withLock { state in
            if !state.isOver { state.followers.append(continuation) }
            return state.isOver
        }
        if isOver { continuation.finish() }
        return stream
    }

    /// Counts how often the body has begun anew.
    var version: Int { state.withLock { $0.version } }

    /// A body begins at byte 0: what was there is of another version.
    func restart() {
        state.withLock { state in
            state.version += 1
            // A follower may be reading it: closed at the end.
            if state.descriptor >= 0 { state.superseded.append(state.descriptor) }
            state.descriptor = -1
        }
    }

    /// More of the body may have been written. `open` gives a descriptor on the file, once there is one.
    func advance(to available: Int64, open: () -> Int32?) {
        state.withLock { state in
            guard !state.followers.isEmpty, available > 0 else { return }
            if state.descriptor < 0 { state.descriptor = open() ?? -1 }
            guard state.descriptor >= 0 else { return }
            let stand = Stand(descriptor: state.descriptor, available: available, version: state.version)
            for follower in state.followers { follower.yield(stand) }
        }
    }

    func finish() {
        let followers = state.withLock { state in
            state.isOver = true
            defer { state.followers = [] }
            return state.followers
        }
        for follower in followers { follower.finish() }
    }
}
