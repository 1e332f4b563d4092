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
