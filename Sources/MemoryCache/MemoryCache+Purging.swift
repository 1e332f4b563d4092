public import CLinux
public import ConcurrencyPrimitives
public import Synchronization

/// The result of a purge.
public struct MemoryCachePurge: Sendable, Hashable {
    public var entries = 0
    /// The sum of the entries' costs.
    public var bytes = 0

    public init(entries: Int = 0, bytes: Int = 0) {
        self.entries = entries
        self.bytes = bytes
    }
}

extension MemoryCache {
    /// The limits of the cache.
    @inlinable
    public var limits: MemoryCacheLimits { currentLimits.withLock { $0 } }

    /// Sets new limits. If the usage exceeds the new capacity, the cache is purged at once.
    ///
    /// Only this purge may remove pinned entries, the oldest first, if the usage exceeds the capacity without all
    /// others.
    @discardableResult
    @inlinable
    public func setLimits(_ limits: MemoryCacheLimits) -> MemoryCachePurge {
        currentLimits.withLock { current in
            current = limits
            capacity.store(limits.capacity, ordering: .relaxed)
        }
        return purgeAboveCapacity(watching: nil).purge
    }

    /// Purges because of memory pressure: a ``MemoryPressure/warning`` purges to the preferred usage, except for pinned
    /// entries; ``MemoryPressure/critical`` removes all entries, including pinned ones.
    ///
    /// Freed memory is returned to the system as far as the allocator allows.
    @discardableResult
    @inlinable
    public func respond(to pressure: MemoryPressure) -> MemoryCachePurge {
        let purge =
            switch pressure {
            case .warning:
                makeRoom { limits in
                    PurgeThresholds(above: limits.preferredUsage, free: limits.preferredUsage, pinned: limits.capacity)
                }.purge
            case .critical: makeRoom { _ in PurgeThresholds(above: -1, free: -1, pinned: -1) }.purge
            }
        if purge.bytes > 0 { clinux_trim_heap() }
        return purge
    }

    /// Removes all values; those that callers hold are not found again either.
    @inlinable
    public func removeAll() {
        let all = withAllShards { shards in
            shards.map { shard in
                shard.pointee.counts.removed += shard.pointee.free.count + shard.pointee.pinned.count
                return shard.pointee.removeAll()
            }
        }
        for shard in all { usage.subtract(shard.bytes, ordering: .relaxed) }
    }

    /// Adds bytes to the usage, and purges if necessary. Returns true if the use with the number `watching` was purged.
    @discardableResult
    @inlinable
    func addUsage(_ bytes: Int, watching: UInt64? = nil) -> Bool {
        let usage = usage.add(bytes, ordering: .relaxed).newValue
        guard usage > capacity.load(ordering: .relaxed) else { return false }
        return purgeAboveCapacity(watching: watching).isWatchedPurged
    }

    @inlinable
    func purgeAboveCapacity(watching: UInt64?) -> (purge: MemoryCachePurge, isWatchedPurged: Bool) {
        makeRoom(watching: watching) { limits in
            PurgeThresholds(above: limits.capacity, free: limits.preferredUsage, pinned: limits.capacity)
        }
    }

    /// The thresholds of a purge, in bytes.
    @usableFromInline
    struct PurgeThresholds {
        /// The usage above which a purge starts.
        @usableFromInline var above: Int
        /// The usage to which unpinned entries are removed.
        @usableFromInline var free: Int
        /// The usage to which pinned entries are removed after that.
        @usableFromInline var pinned: Int

        @inlinable
        init(above: Int, free: Int, pinned: Int) {
            self.above = above
            self.free = free
            self.pinned = pinned
        }
    }

    @inlinable
    func makeRoom(
        watching: UInt64? = nil, _ room: (MemoryCacheLimits) -> PurgeThresholds
    ) -> (purge: MemoryCachePurge, isWatchedPurged: Bool) {
        var evicted: [Shard<Key, Value>.Evicted] = []
        var purge = MemoryCachePurge()
        var isWatchedPurged = false
        withAllShards { shards in
            // Computed under the locks: the second of two concurrent purges sees the result of the first.
            let room = room(limits)
            var bytes = shards.reduce(0) { $0 + $1.pointee.bytes }
            guard bytes > room.above else { return }
            shards[0].pointee.counts.purges += 1
            for (isPinned, target) in [(false, room.free), (true, room.pinned)] {
                var order = Oldest(shards, arePinned: isPinned)
                while bytes > target, let (shard, slot, sequence) = order.next() {
                    let cost = shards[shard].pointee.slots[slot]?.cost ?? 0
                    if let value = shards[shard].pointee.evict(slot, remembering: context.weakValues) {
                        evicted.append(value)
                    }
                    order.advance(shard)
                    bytes -= cost
                    purge.bytes += cost
                    purge.entries += 1
                    if sequence == watching { isWatchedPurged = true }
                }
            }
            shards[0].pointee.counts.purgedEntries += purge.entries
            shards[0].pointee.counts.purgedBytes += purge.bytes
            for shard in shards { shard.pointee.releaseUnused() }
        }
        usage.subtract(purge.bytes, ordering: .relaxed)
        return (purge, isWatchedPurged)
    }

    @usableFromInline
    typealias ShardPointer = UnsafeMutablePointer<Shard<Key, Value>>

    /// Runs `body` with the locks of all shards, acquired in order.
    @inlinable
    func withAllShards<Result: Sendable>(_ body: ([ShardPointer]) -> Result) -> Result {
        func lock(_ pointers: [ShardPointer]) -> Result {
            guard pointers.count < shards.count else { return body(pointers) }
            return shards[pointers.count].withLock { shard in
                withUnsafeMutablePointer(to: &shard) { lock(pointers + [$0]) }
            }
        }
        return lock([])
    }
}

/// Iterates over the entries of all shards' lists from the oldest on.
@usableFromInline
struct Oldest<Key: MemoryCacheKey, Value: Sendable> {
    @usableFromInline let shards: [UnsafeMutablePointer<Shard<Key, Value>>]
    @usableFromInline let arePinned: Bool
    /// Each shard's oldest use in the list; `max` if the list is empty.
    @usableFromInline var sequences: [UInt64] = []

    @inlinable
    init(_ shards: [UnsafeMutablePointer<Shard<Key, Value>>], arePinned: Bool) {
        self.shards = shards
        self.arePinned = arePinned
        sequences = shards.indices.map { oldest($0)?.sequence ?? .max }
    }

    /// The oldest entry, which the caller removes from the list before it calls `advance`.
    @inlinable
    func next() -> (shard: Int, slot: Int32, sequence: UInt64)? {
        var first = 0
        for shard in sequences.indices where sequences[shard] < sequences[first] { first = shard }
        return oldest(first).map { (first, $0.slot, $0.sequence) }
    }

    @inlinable
    mutating func advance(_ shard: Int) {
        sequences[shard] = oldest(shard)?.sequence ?? .max
    }

    @inlinable
    func oldest(_ shard: Int) -> (slot: Int32, sequence: UInt64)? {
        let slot = arePinned ? shards[shard].pointee.pinned.oldest : shards[shard].pointee.free.oldest
        return slot == Use.none ? nil : (slot, shards[shard].pointee.slots.uses[Int(slot)].sequence)
    }
}
