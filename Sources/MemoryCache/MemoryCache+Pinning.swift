public import ConcurrencyPrimitives

extension MemoryCache {
    /// Pins the key's value: purges remove other values first. Counts as a use. Pins do not add up.
    ///
    /// A pinned value is still removed after its time limit, by removal, under critical memory pressure, and as a last
    /// resort if pinned entries alone exceed the capacity: pins never raise the usage above it.
    ///
    /// - Returns: True if the cache holds a value. One that only a caller holds does not count.
    @discardableResult
    @inlinable
    public func pin(_ key: Key) -> Bool { setPinned(true, key) }

    /// Unpins the key's value, which becomes the most recently used one.
    ///
    /// - Returns: True if the cache holds a value.
    @discardableResult
    @inlinable
    public func unpin(_ key: Key) -> Bool { setPinned(false, key) }

    @inlinable
    func setPinned(_ isPinned: Bool, _ key: Key) -> Bool {
        let hash = key.hashValue
        return shards[Self.shard(hash)].withLock { shard in
            guard let slot = shard.slot(of: key, hash: UInt32(truncatingIfNeeded: hash)) else { return false }
            return shard.setPinned(isPinned, slot, sequence: next(), date: context.date)
        }
    }
}

extension Shard {
    /// Returns false if the cache holds no value for the key.
    @inlinable
    mutating func setPinned(_ isPinned: Bool, _ slot: Int32, sequence: UInt64, date: Double) -> Bool {
        guard let (cost, was) = slots[slot].flatMap({ $0.value == nil ? nil : ($0.cost, $0.isPinned) }) else {
            return false
        }
        switch (was, isPinned) {
        case (false, true):
            slots.unlink(slot, from: &free)
            slots.prepend(slot, to: &pinned, sequence: sequence, date: date)
            pinnedBytes += cost
        case (true, false):
            slots.unlink(slot, from: &pinned)
            slots.prepend(slot, to: &free, sequence: sequence, date: date)
            pinnedBytes -= cost
        default:
            renew(slot, sequence: sequence, date: date)
        }
        slots[slot]?.isPinned = isPinned
        return true
    }
}
