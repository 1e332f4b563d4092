import ConcurrencyPrimitives
import DiskStore

/// Sweeps the store once in a process's life, in the background, when no process has done so for a day.
///
/// It starts with the first transfer, so that a hit never pays for it.
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

    /// Ends the sweep between two of its steps.
    func stop() async {
        let running = task.withLock { $0 }
        running?.cancel()
        await running?.value
    }
}
