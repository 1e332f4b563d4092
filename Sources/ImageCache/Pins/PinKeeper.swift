import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials

/// Keeps pins up to date in the background while a cache is open: resumes incomplete sets of earlier processes, and refreshes sets that are
/// due.
final class PinKeeper: Sendable {
    private let task = Locked<Task<Void, Never>?>(nil)

    func start(_ cache: DownloadCache) {
        let keeping = Task.detached { [weak cache] in
            var schedule = PinSchedule()
            while !Task.isCancelled {
                guard let wait = await cache?.keepPins(&schedule) else { return }
                do { try await Task.sleep(for: wait) } catch { return }
            }
        }
        task.withLock { $0 = keeping }
    }

    func cancel() { task.withLock { $0 }?.cancel() }

    func stop() async {
        let keeping = task.withLock { $0 }
        keeping?.cancel()
        await keeping?.value
    }
}

extension DownloadCache {
    /// Downloads and refreshes the sets that are due.
    ///
    /// - Returns: The delay until the next call.
    fileprivate func keepPins(_ schedule: inout PinSchedule) async -> Duration {
        var sets = (try? await pinSetStates()) ?? []
        let due = schedule.due(sets, now: milliseconds)
        if due.isEmpty { return .milliseconds(schedule.wait(sets, now: milliseconds)) }
        for set in due where !Task.isCancelled {
            // Failures are recorded in the set.
            _ = try? await withTaskExecutorPreference(executor) {
                try await PinDownload(cache: self, set: set).run()
            }
            guard let after = (try? await pinSetStates())?.first(where: { $0.set == set.set }) else { continue }
            schedule.tried(after, now: milliseconds)
        }
        sets = (try? await pinSetStates()) ?? []
        return .milliseconds(schedule.wait(sets, now: milliseconds))
    }

    func pinSetStates() async throws(ImageCacheError) -> [PinSetState] {
        try await executor.run { [self] () throws(ImageCacheError) in
            try blocking.translating { try blocking.store.pinSets() }
        }
    }

    private var milliseconds: Int64 { Int64(configuration.now().timeIntervalSince1970 * 1000) }
}
