import ConcurrencyPrimitives

extension DiskStore {
    /// The difference between the configured capacity and the remembered one at opening; nil if there is none.
    package var capacityChange: CapacityChange? { index.withLock { $0.capacityChange } }

    /// Evicts entries beyond the capacity, the least recently used first. Bodies held by running processes remain.
    package func keepWithinCapacity() throws(StoreError) -> PruneResult {
        try withIndex { (index) throws(StoreError) in
            let before = index.evictions
            do throws(StoreError) {
                try index.makeRoom(for: 0)
            } catch  where error.code == .full || error.code == .held {
                // Everything removable is gone.
            }
            return PruneResult(
                entries: index.evictions.count - before.count, bytes: index.evictions.bytes - before.bytes)
        }
    }

    /// Statistics of the evictions. Entries that were removed do not count.
    package var evictions: EvictionStatistics { index.withLock { $0.evictions } }
}

/// A change of the store's capacity.
package struct CapacityChange: Sendable, Equatable {
    /// The previous capacity in the store, or nil if there was none.
    package let previous: Int64?
    package let capacity: Int64
    /// The number of bytes by which the store exceeds the new capacity now: at least as many will be evicted.
    package let excess: Int64
}

extension Index {
    /// Determines the capacity of an index that was just opened: the configured one, else the remembered one, else the
    /// default.
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
            _ = try changeUnlessBusy { (totals) throws(StoreError) in totals.capacity = wanted }
        } catch  where error.code == .full {
            // Recorded by the next process with a configured capacity.
        }
    }

    /// 20 GiB, at most half of the disk space available to the store.
    private func defaultCapacity(_ totals: Totals) -> Int64 {
        guard let free = freeSpace(at: paths.root) else { return StoreConfiguration.defaultCapacity }
        let half = (free + totals.counted) / 2
        return min(StoreConfiguration.defaultCapacity, max(half, StoreConfiguration.minimumCapacity))
    }

    /// Applies a capacity, including SQLite's settings that depend on it. Outside of a transaction.
    func setCapacity(_ capacity: Int64) {
        announcedCapacity = nil
        if capacity != budget.capacity { budget = Budget(capacity: capacity) }
        if configuration.isReadOnly { return }
        let pages = budget.checkpointPages
        // On failure, the log is only checkpointed at other times.
        try? catalogue().limitLog(pages: pages)
    }

    /// Detects that another process was configured with another capacity; it applies from the next call on.
    func refreshCapacity(_ totals: Totals) {
        guard configuration.capacity == nil, totals.capacity > 0, totals.capacity != budget.capacity else { return }
        announcedCapacity = totals.capacity
    }
}
