import ConcurrencyPrimitives

/// A capacity that differs from what the store kept to before.
public struct CapacityChange: Sendable, Equatable {
    /// The capacity that the store remembered; nil if none was ever asked for.
    public let previous: Int64?
    public let capacity: Int64
    /// By how much the store exceeds the new capacity now: at least so much will be evicted.
    public let excess: Int64
}

extension Index {
    /// Finds the capacity for an index that was just opened: what the configuration asks for, else what the index remembers, else
    /// the default.
    func resolveCapacity() throws(StoreError) {
        let totals = try readTotals()
        guard let wanted = configuration.capacity else {
            return setCapacity(totals.capacity > 0 ? totals.capacity : defaultCapacity(totals))
        }
        setCapacity(wanted)
        guard totals.capacity != wanted, !configuration.isReadOnly else { return }
        let excess = max(0, try usage(totals).used - wanted)
        capacityChange = CapacityChange(
            previous: totals.capacity > 0 ? totals.capacity : nil, capacity: wanted, excess: excess)
        guard configuration.remembersCapacity else { return }
        do throws(StoreError) {
            try change { (totals) throws(StoreError) in totals.capacity = wanted }
        } catch  where error.code == .full || error.code == .busy {
            // The next process that is asked to keep it writes it down.
        }
    }

    /// 20 GiB, and never more than half of what the disk has for the store.
    private func defaultCapacity(_ totals: Totals) -> Int64 {
        guard let free = FileStatus.freeSpace(at: paths.root) else { return StoreConfiguration.defaultCapacity }
        let half = (free + totals.counted) / 2
        return min(StoreConfiguration.defaultCapacity, max(half, StoreConfiguration.minimumCapacity))
    }

    /// Takes a capacity over, and what SQLite is told because of it. Outside a transaction.
    func setCapacity(_ capacity: Int64) {
        announcedCapacity = nil
        if capacity != budget.capacity { budget = Budget(capacity: capacity) }
        if configuration.isReadOnly { return }
        let pages = budget.checkpointPages
        // Without it the log is only checkpointed at other times.
        try? catalogue().limitLog(pages: pages)
    }

    /// Notices that another process was asked for another capacity; it holds from the next call on.
    func refreshCapacity(_ totals: Totals) {
        guard configuration.capacity == nil, totals.capacity > 0, totals.capacity != budget.capacity else { return }
        announcedCapacity = totals.capacity
    }
}

extension DiskStore {
    /// How the configured capacity differs from the one that the store remembered when it was opened; nil if it does not.
    public var capacityChange: CapacityChange? { index.withLock { $0.capacityChange } }

    /// Evicts what exceeds the capacity, the longest unused first. What runs hold stays.
    public func keepWithinCapacity() throws(StoreError) -> PruneResult {
        try withIndex { (index) throws(StoreError) in
            let before = index.evictions
            do throws(StoreError) {
                try index.makeRoom(for: 0)
            } catch  where error.code == .full || error.code == .held {
                // All that could go has gone.
            }
            return PruneResult(
                entries: index.evictions.count - before.count, bytes: index.evictions.bytes - before.bytes)
        }
    }
}
