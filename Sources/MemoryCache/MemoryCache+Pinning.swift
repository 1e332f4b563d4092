public import ConcurrencyPrimitives

extension MemoryCache {
    /// Keeps the key's value when room is made: others go first. It counts as a use. Pins do not add up.
    ///
    /// A pinned value goes all the same when its time limit is past, when it is removed, under critical memory pressure,
    /// and as the last means when pinned entries alone are above the capacity: no pin takes the usage above it.
    ///
    /// - Returns: whether there is a value. One that only a caller holds is not there.
    @discardableResult
    @inlinable
    public func pin(_ key: Key) -> Bool { setPinned(true, key) }

    /// Lets the key's value go again like any other, as the most recently used one.
    ///
    /// - Returns: whether there is a value.
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
    /// False: the cache holds no value there.
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
