import ConcurrencyPrimitives
import DiskStore

/// Sweeps the store in the background, once in a process, if no process has done so for a day.
///
/// The first transfer starts it, so that it does not delay hits.
final class Sweeper: Sendable {
    private let store: DiskStore
    private let executor: BlockingExecutor
    private let task = Locked<Task<Void, Never>?>(nil)

    init(store: DiskStore, executor: BlockingExecutor) {
        self.store = store
        self.executor = executor
    }

    func startOnce() {
        task.withLock { [store] task in
            guard task == nil else { return }
            task = Task.detached(executorPreference: executor, priority: .background) {
                // A failed sweep is repeated by a later process.
                _ = try? await store.sweep(ifOlderThan: .seconds(86_400))
            }
        }
    }

    /// Cancels the sweep, and returns when its current step has ended.
    func stop() async {
        let running = task.withLock { $0 }
        running?.cancel()
        await running?.value
    }
}
