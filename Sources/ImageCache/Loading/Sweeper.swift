import ConcurrencyPrimitives
import DiskStore

/// Sweeps the store in the background, whenever no process has done so for a day.
///
/// The first transfer starts it, so that it does not delay hits.
final class Sweeper: Sendable {
    /// The age of the last sweep at which another one is due.
    private static let period = Duration.seconds(86_400)
    /// The time between two looks if one is due. Another process may have swept, and a sweep may have failed.
    private static let interval = Duration.seconds(3600)

    private let store: DiskStore
    private let executor: BlockingExecutor
    private let sleep: @Sendable (Duration) async throws -> Void
    private let task = Locked<Task<Void, Never>?>(nil)

    /// - Parameter sleep: Waits; throws if its task is cancelled.
    init(
        store: DiskStore, executor: BlockingExecutor,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.store = store
        self.executor = executor
        self.sleep = sleep
    }

    deinit { task.withLock { $0 }?.cancel() }

    func startOnce() {
        task.withLock { [store, executor, sleep] task in
            guard task == nil else { return }
            // The store lives no longer for it.
            task = Task.detached(executorPreference: executor, priority: .background) { [weak store] in
                while !Task.isCancelled {
                    _ = try? await store?.sweep(ifOlderThan: Self.period)
                    do { try await sleep(Self.interval) } catch { return }
                }
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
