import Glibc

/// The size and the content of the store, in bytes as counted by `du`.
public struct StoreStatistics: Sendable, Equatable {
    /// The number of complete bodies.
    public let entries: Int64
    /// The space that they occupy.
    public let bodyBytes: Int64
    /// The space of the pinned ones among them.
    public let pinnedBytes: Int64
    /// The number of partials, in use or idle.
    public let partials: Int
    /// The space reserved for them.
    public let partialBytes: Int64
    /// The space of bodies that were evicted or removed and are still being read.
    public let doomedBytes: Int64
    /// The present size of the index with its log.
    public let indexBytes: Int64
    /// The total, with folders and the greatest size of the log: never more than ``capacity``.
    public let usedBytes: Int64
    public let capacity: Int64
    /// The space that the file system has available for this user.
    public let freeSpace: Int64

    /// The total that `du` shows now, without reserved space for folders and the log.
    package var presentBytes: Int64 { bodyBytes + partialBytes + doomedBytes + indexBytes }
}

extension DiskStore {
    package func statistics() throws(StoreError) -> StoreStatistics {
        try withIndex { (index) throws(StoreError) in
            let totals = try index.readTotals()
            index.diskUsage.forget()
            let files = [paths.index, paths.log, paths.sharedMemory]
            return try StoreStatistics(
                entries: totals.entries, bodyBytes: totals.bodies,
                pinnedBytes: index.catalogue().holds.pinnedBytes(), partials: index.catalogue().partials.count(),
                partialBytes: totals.partials, doomedBytes: totals.doomed,
                indexBytes: files.reduce(0) { $0 + (FileStatus(at: $1)?.allocated ?? 0) },
                usedBytes: index.usage(totals).used, capacity: index.budget.capacity,
                freeSpace: freeSpace(at: paths.root) ?? 0)
        }
    }
}
