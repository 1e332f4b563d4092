import ConcurrencyPrimitives
import Dispatch

/// Runs at most six tests that start processes at a time. They wait for a third of their time; more of them would slow each other
/// down. They run outside the pool of the other tests, because they block on sockets, files and processes.
public enum ProcessSlots {
    private static let slots = Slots(free: 6)
    private static let threads = BlockingThreads()

    /// True in a turn.
    @TaskLocal static var isInTurn = false

    /// Runs `work` when it is its turn.
    public static func withTurn(_ work: @Sendable () async throws -> Void) async throws {
        await slots.take()
        defer { slots.give() }
        try await $isInTurn.withValue(true) {
            try await withTaskExecutorPreference(threads) { try await work() }
        }
    }

    private final class BlockingThreads: TaskExecutor {
        private let queue = DispatchQueue(label: "tests that block", attributes: .concurrent)

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private final class Slots: Sendable {
        private struct State {
            var free: Int
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        private let state: Locked<State>

        init(free: Int) {
            state = Locked(State(free: free))
        }

        func take() async {
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    if state.free == 0 {
                        state.waiting.append(continuation)
                        return false
                    }
                    state.free -= 1
                    return true
                }
                if isFree { continuation.resume() }
            }
        }

        func give() {
            let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
                if state.waiting.isEmpty {
                    state.free += 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
            next?.resume()
        }
    }
}
