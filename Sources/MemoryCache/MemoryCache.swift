public import ConcurrencyPrimitives
public import Synchronization

/// A cache of values in memory that removes the least recently used ones when they exceed a number of bytes, or under
/// memory pressure.
///
/// The cost of a value, in bytes, is given at its insertion and does not change: width × height × 4 for an RGBA8 image.
///
/// - When an insert raises the usage above ``MemoryCacheLimits/capacity`` (not when equal), entries are removed, those
///   with the oldest last access first, until the usage is at most ``MemoryCacheLimits/preferredUsage``. The inserted
///   entry is the last in that order. Inserts and hits are accesses.
/// - The order is that of the accesses themselves, not of their dates: it is independent of the clock's resolution and
///   of clock steps.
/// - A value that costs more than the capacity is not kept.
/// - ``respond(to:)`` purges under memory pressure; a ``MemoryPressureMonitor`` calls it automatically.
/// - With ``WeakValues``, a value that was purged while a caller holds it is found again.
///
/// Look-ups, inserts and removals take constant time, a purge takes time proportional to the removed entries. All
/// methods may be called on any thread; values are released by the thread that removes them, outside of the locks.
///
/// ```swift
/// let cache = MemoryCache<ImageKey, DecodedImage>(monitor: monitor)
/// cache.insert(image, for: key, cost: image.width * image.height * 4)
/// let image = cache.value(for: key)
/// ```
public final class MemoryCache<Key: MemoryCacheKey, Value: Sendable>: Sendable {
    /// The shards. Their number is a power of two, and the highest bits of a key's hash select one. Each shard has its own lock and order;
    /// uses are numbered across all shards, so that a purge finds the oldest entry.
    @inlinable
    static var shardCount: Int { 16 }

    @usableFromInline let shards: [Locked<Shard<Key, Value>>]
    @usableFromInline let context: ShardContext<Value>
    @usableFromInline let monitor: MemoryPressureMonitor?
    /// The number of uses so far.
    @usableFromInline let sequence = Atomic<UInt64>(0)
    /// The sum of the shards' bytes, exact when no call is in progress.
    @usableFromInline let usage = Atomic<Int>(0)
    /// The capacity of the limits, readable without their lock.
    @usableFromInline let capacity: Atomic<Int>
    @usableFromInline let currentLimits: Locked<MemoryCacheLimits>

    /// - Parameters:
    ///   - limits: The limits; default: 100 MiB, purged to 60 MiB.
    ///   - weakValues: Finds values again that callers hold; nil: none are found.
    ///   - monitor: A monitor whose reports of memory pressure this cache follows during its lifetime, and that is
    ///     informed of every insert, so that it checks in time.
    ///   - clock: The clock for dates and time limits.
    //
    // Not inlinable: a generic class with atomics crashes the compiler of Swift 6.3.1.
    public init(
        limits: MemoryCacheLimits = .default, weakValues: WeakValues<Value>? = nil,
        monitor: MemoryPressureMonitor? = nil,
        clock: MemoryCacheClock = .system
    ) {
        shards = (0..<Self.shardCount).map { _ in Locked(Shard()) }
        context = ShardContext(clock: clock, weakValues: weakValues)
        capacity = Atomic(limits.capacity)
        currentLimits = Locked(limits)
        self.monitor = monitor
        monitor?.observe(by: self) { cache, pressure in cache.respond(to: pressure) }
    }

    /// The key's value, which becomes the most recently used one; nil if it does not exist, or its time limit is over.
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

    /// The outcome of an insertion.
    public enum Insertion: Sendable, Hashable {
        /// It is in the cache.
        case kept
        /// It costs more than the capacity. The key's previous value was removed.
        case tooLarge
        /// Its own insert raised the usage above the capacity, and removing everything older did not suffice.
        case purged
    }

    /// Inserts a value, replacing the key's previous one.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key.
    ///   - cost: The cost in bytes; below 0 counts as 0.
    ///   - timeLimit: The time for which it can be found; nil: unlimited.
    ///   - pinned: See ``pin(_:)``. A pinned key remains pinned.
    @discardableResult
    @inlinable
    public func insert(
        _ value: Value, for key: Key, cost: Int, timeLimit: Duration? = nil, pinned: Bool = false
    ) -> Insertion {
        let cost = max(0, cost)
        let isTooLarge = cost > capacity.load(ordering: .relaxed)
        let hash = key.hashValue
        let reference = isTooLarge ? context.weakValues.map { WeakReference($0.object(value)) } : nil
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

    /// Removes and returns the key's value.
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

    /// Removes every value made from the original, and no others; those that callers hold are not found again either.
    ///
    /// - Returns: The number of entries removed.
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
