public import ConcurrencyPrimitives
public import Synchronization

/// Values in memory, the least recently used of which go when there are too many bytes of them, or when memory is short.
///
/// What each value costs is said when it is inserted, in bytes, and stays the same while it is there: for an image of
/// RGBA8, width × height × 4.
///
/// - When an insert takes the usage above ``MemoryCacheLimits/capacity`` (equal to it does not), entries go, the one
///   whose last access is the oldest first, until the usage is at most ``MemoryCacheLimits/preferredUsage``. The
///   inserted entry is the last in that order. Inserts and hits are accesses.
/// - The order is that of the accesses themselves, not of their dates: two within one tick of the clock, or a clock that
///   steps back, do not confuse it.
/// - A value that costs more than the capacity is not kept; whoever made it has it.
/// - ``respond(to:)`` purges when memory is short; with a ``MemoryPressureMonitor`` that happens by itself.
/// - With ``HeldValues``, a value that was purged while a caller holds it is found again.
///
/// A look-up, an insert and a removal take constant time, a purge takes time for what it removes. Any thread may call
/// anything; values are released by the thread that removes them, after the locks.
///
/// ```swift
/// let cache = MemoryCache<ImageKey, DecodedImage>(monitor: monitor)
/// cache.insert(image, for: key, cost: image.width * image.height * 4)
/// let image = cache.value(for: key)
/// ```
public final class MemoryCache<Key: MemoryCacheKey, Value: Sendable>: Sendable {
    /// A power of two: the highest bits of a key's hash choose one. Each has a lock and an order of its own; uses are
    /// counted over all of them, so that a purge finds the oldest entry of all.
    @inlinable
    static var shardCount: Int { 16 }

    @usableFromInline let shards: [Locked<Shard<Key, Value>>]
    @usableFromInline let context: ShardContext<Value>
    @usableFromInline let monitor: MemoryPressureMonitor?
    /// Uses of any entry so far.
    @usableFromInline let sequence = Atomic<UInt64>(0)
    /// The sum of the shards' bytes, as soon as all calls under way have ended.
    @usableFromInline let usage = Atomic<Int>(0)
    /// The limits' capacity, without their lock.
    @usableFromInline let capacity: Atomic<Int>
    @usableFromInline let currentLimits: Locked<MemoryCacheLimits>

    /// - Parameters:
    ///   - limits: 100 MiB, purged to 60 MiB, unless given.
    ///   - held: how values that callers hold are found again; nil: they are not.
    ///   - monitor: whose reports of memory pressure this cache follows as long as it lives, and which is told of every
    ///     insert, so that it looks in time.
    ///   - clock: for dates and time limits.
    //
    // Not inlinable: with a generic class's atomics that crashes the compiler of Swift 6.3.1.
    public init(
        limits: MemoryCacheLimits = .default, held: HeldValues<Value>? = nil, monitor: MemoryPressureMonitor? = nil,
        clock: MemoryCacheClock = .system
    ) {
        shards = (0..<Self.shardCount).map { _ in Locked(Shard()) }
        context = ShardContext(clock: clock, held: held)
        capacity = Atomic(limits.capacity)
        currentLimits = Locked(limits)
        self.monitor = monitor
        monitor?.observe(by: self) { cache, pressure in cache.respond(to: pressure) }
    }

    /// The key's value, which becomes the most recently used one; nil: it is not there, or past its time limit.
    @inlinable
    public func value(for key: Key) -> Value? {
        let hash = key.hashValue
        let finding = shards[Self.shard(hash)].withLock { shard in
            shard.use(
                key, hash: UInt32(truncatingIfNeeded: hash), capacity: capacity.load(ordering: .relaxed),
                sequence: next(), context: context)
        }
        switch finding {
        case .hit(let value):
            return value
        case .miss:
            return nil
        case .expired(_, let cost):
            usage.subtract(cost, ordering: .relaxed)
            return nil
        case .found(let value, let cost):
            addUsage(cost)
            return value
        }
    }

    /// What became of an inserted value.
    public enum Insertion: Sendable, Hashable {
        /// It is in the cache.
        case kept
        /// It costs more than the capacity. What was there under the key is gone.
        case tooLarge
        /// Its own insert took the usage above the capacity, and even without everything older, the preferred usage.
        case purged
    }

    /// Puts a value in, in place of what was there under the key.
    ///
    /// - Parameters:
    ///   - value: what is kept.
    ///   - key: what it is found by.
    ///   - cost: in bytes; below 0 counts as 0.
    ///   - timeLimit: for how long it may be found; nil: for as long as it is there.
    ///   - pinned: see ``pin(_:)``. A key that is pinned stays so.
    @discardableResult
    @inlinable
    public func insert(
        _ value: Value, for key: Key, cost: Int, timeLimit: Duration? = nil, pinned: Bool = false
    ) -> Insertion {
        let cost = max(0, cost)
        let isTooLarge = cost > capacity.load(ordering: .relaxed)
        let hash = key.hashValue
        let reference = isTooLarge ? context.held.map { WeakReference($0.object(value)) } : nil
        var entry = Entry<Key, Value>(
            key: key, value: isTooLarge ? nil : value, reference: reference, cost: cost,
            expiry: timeLimit.map { (context.clock.elapsed() + $0).nanoseconds } ?? .max, isPinned: pinned,
            hash: UInt32(truncatingIfNeeded: hash),
            originalHash: UInt32(truncatingIfNeeded: key.original.hashValue))
        let date = context.date
        let (old, change, mine) = shards[Self.shard(hash)].withLock { shard in
            var old: (value: Value?, bytes: Int) = (nil, 0)
            if let slot = shard.slot(of: key, hash: entry.hash) {
                if shard.slots[slot]?.isPinned == true { entry.isPinned = true }
                old = shard.remove(slot)
            }
            let mine = next()
            if isTooLarge {
                shard.counts.tooLarge += 1
                guard reference != nil else { return (old.value, -old.bytes, mine) }
                entry.isPinned = false
                shard.add(entry, sequence: mine, date: date)
                shard.forgetReleased()
                return (old.value, -old.bytes, mine)
            }
            shard.counts.inserts += 1
            shard.add(entry, sequence: mine, date: date)
            return (old.value, cost - old.bytes, mine)
        }
        _ = old
        let isPurged = addUsage(change, watching: mine)
        monitor?.grew(by: cost)
        return isTooLarge ? .tooLarge : isPurged ? .purged : .kept
    }

    /// Takes the key's value out, and returns it.
    @discardableResult
    @inlinable
    public func remove(_ key: Key) -> Value? {
        let hash = key.hashValue
        let removed = shards[Self.shard(hash)].withLock { shard -> (value: Value?, bytes: Int) in
            guard let slot = shard.slot(of: key, hash: UInt32(truncatingIfNeeded: hash)) else { return (nil, 0) }
            let removed = shard.remove(slot)
            if removed.value != nil { shard.counts.removed += 1 }
            return removed
        }
        usage.subtract(removed.bytes, ordering: .relaxed)
        return removed.value
    }

    /// Takes out every value made from the original, and nothing else; also such as callers hold are not found again.
    ///
    /// - Returns: how many entries that were.
    @discardableResult
    @inlinable
    public func removeVariants(of original: Key.Original) -> Int {
        let hash = UInt32(truncatingIfNeeded: original.hashValue)
        var count = 0
        for shard in shards {
            let removed = shard.withLock { shard in
                let removed = shard.removeVariants(of: original, hash: hash)
                shard.counts.removed += removed.entries
                return removed
            }
            usage.subtract(removed.bytes, ordering: .relaxed)
            count += removed.entries
        }
        return count
    }

    @inlinable
    static func shard(_ hash: Int) -> Int {
        Int(truncatingIfNeeded: UInt(bitPattern: hash) >> (UInt.bitWidth - shardCount.trailingZeroBitCount))
    }

    /// The number of this use.
    @inlinable
    func next() -> UInt64 {
        sequence.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
