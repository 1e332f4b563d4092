import Glibc

/// What the store holds, in bytes as `du` counts them.
public struct StoreStatistics: Sendable, Equatable {
    /// Complete bodies.
    public let entries: Int64
    /// What they occupy.
    public let bodyBytes: Int64
    /// Of these, what is pinned.
    public let pinnedBytes: Int64
    /// Begun and not finished, in use or idle.
    public let partials: Int
    /// What is set aside for them.
    public let partialBytes: Int64
    /// Bodies that were evicted or removed and are still being read.
    public let doomedBytes: Int64
    /// The index with its log, as the files are now.
    public let indexBytes: Int64
    /// All of it, with folders and with what the log may grow to: never more than ``capacity``.
    public let usedBytes: Int64
    public let capacity: Int64
    /// What the file system has left for this user.
    public let freeSpace: Int64
}

extension DiskStore {
    public func statistics() throws(StoreError) -> StoreStatistics {
        try withIndex { (index) throws(StoreError) in
            let totals = try index.readTotals()
            let files = [paths.index, paths.log, paths.sharedMemory]
            return try StoreStatistics(
                entries: totals.entries, bodyBytes: totals.bodies,
                pinnedBytes: index.catalogue().pinnedBytes(), partials: index.catalogue().partials().count,
                partialBytes: totals.partials, doomedBytes: totals.doomed,
                indexBytes: files.reduce(0) { $0 + (FileStatus(at: $1)?.allocated ?? 0) },
                usedBytes: index.usage(totals).used, capacity: index.budget.capacity,
                freeSpace: FileStatus.freeSpace(at: paths.root) ?? 0)
        }
    }
}
