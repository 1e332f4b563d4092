public import FoundationEssentials

/// The context that all shards of a cache share.
@usableFromInline
struct ShardContext<Value: Sendable>: Sendable {
    @usableFromInline let clock: MemoryCacheClock
    @usableFromInline let weakValues: WeakValues<Value>?

    @inlinable
    init(clock: MemoryCacheClock, weakValues: WeakValues<Value>?) {
        self.clock = clock
        self.weakValues = weakValues
    }

    /// The wall clock in seconds since 1970.
    @inlinable
    var date: Double { clock.date().timeIntervalSince1970 }
}

extension Duration {
    /// Whole nanoseconds, clamped to the range of `Int64` (292 years).
    @inlinable
    var nanoseconds: Int64 {
        let (seconds, overflow) = components.seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, second) = seconds.addingReportingOverflow(components.attoseconds / 1_000_000_000)
        return overflow || second ? (self < .zero ? .min : .max) : sum
    }
}

/// One key's entry.
@usableFromInline
struct Entry<Key: MemoryCacheKey, Value: Sendable>: Sendable {
    @usableFromInline let key: Key
    /// nil if the cache purged it, and a caller holds it (`reference`).
    @usableFromInline var value: Value?
    @usableFromInline var reference: WeakReference?
    /// In bytes, as given at the insert.
    @usableFromInline let cost: Int
    /// The end of its time limit, by the clock's elapsed time in nanoseconds; `max`: none.
    @usableFromInline let expiry: Int64
    @usableFromInline var isPinned: Bool
    @usableFromInline let hash: UInt32
    @usableFromInline let originalHash: UInt32
    /// The next entry of the same original.
    @usableFromInline var nextVariant = Use.none
    @usableFromInline var previousVariant = Use.none

    @inlinable
    init(
        key: Key, value: Value?, reference: WeakReference?, cost: Int, expiry: Int64, isPinned: Bool, hash: UInt32,
        originalHash: UInt32
    ) {
        self.key = key
        self.value = value
        self.reference = reference
        self.cost = cost
        self.expiry = expiry
        self.isPinned = isPinned
        self.hash = hash
        self.originalHash = originalHash
    }
}

/// A part of the cache's entries, protected by one lock: found by key and by original, in their order of use.
///
/// It is independent of the limits; the cache adds up the shards' usage and decides what to remove. Removed values are
/// returned, so that they are released outside of the lock.
@usableFromInline
struct Shard<Key: MemoryCacheKey, Value: Sendable>: Sendable {
    @usableFromInline var slots = Slots<Entry<Key, Value>>()
    @usableFromInline var keys = HashIndex()
    /// Each original's first variant.
    @usableFromInline var originals = HashIndex()

    /// The entries that a purge removes first, those that it removes last, and those that callers still hold.
    @usableFromInline var free = UseList()
    @usableFromInline var pinned = UseList()
    @usableFromInline var held = UseList()
    @usableFromInline var bytes = 0
    @usableFromInline var pinnedBytes = 0
    @usableFromInline var counts = MemoryCacheCounts()

    @inlinable
    init() {}

    @usableFromInline
    enum Finding {
        case hit(Value)
        /// A caller still held it; the cache holds it again, at this cost.
        case found(Value, cost: Int)
        case miss
        /// It was present beyond its time limit; the usage is reduced by this cost.
        case expired(Value?, cost: Int)
    }

    @inlinable
    func slot(of key: Key, hash: UInt32) -> Int32? {
        keys.slot(hash: hash) { slots[$0]?.key == key }
    }

    /// The key's value, which becomes the most recently used one.
    @inlinable
    mutating func use(
        _ key: Key, hash: UInt32, capacity: Int, sequence: @autoclosure () -> UInt64,
        context: borrowing ShardContext<Value>
    ) -> Finding {
        guard let slot = slot(of: key, hash: hash) else {
            counts.misses += 1
            return .miss
        }
        if let expiry = slots[slot]?.expiry, expiry != .max, context.clock.elapsed().nanoseconds >= expiry {
            counts.misses += 1
            counts.expired += 1
            let removed = remove(slot)
            return .expired(removed.value, cost: removed.bytes)
        }
        if let value = slots[slot]?.value {
            counts.hits += 1
            renew(slot, sequence: sequence(), date: context.date)
            return .hit(value)
        }
        return revive(slot, capacity: capacity, sequence: sequence(), context: context)
    }

    /// Makes an entry with a value the most recent of its list.
    @inlinable
    mutating func renew(_ slot: Int32, sequence: UInt64, date: Double) {
        if slots[slot]?.isPinned == true {
            slots.renew(slot, in: &pinned, sequence: sequence, date: date)
        } else {
            slots.renew(slot, in: &free, sequence: sequence, date: date)
        }
    }

    @inlinable
    mutating func revive(
        _ slot: Int32, capacity: Int, sequence: UInt64, context: borrowing ShardContext<Value>
    ) -> Finding {
        guard let object = slots[slot]?.reference?.object, let value = context.weakValues?.value(object) else {
            counts.misses += 1
            _ = remove(slot)
            return .miss
        }
        counts.hits += 1
        counts.heldHits += 1
        let cost = slots[slot]?.cost ?? 0
        guard cost <= capacity else { return .hit(value) }
        slots.unlink(slot, from: &held)
        slots[slot]?.value = value
        slots[slot]?.reference = nil
        slots.prepend(slot, to: &free, sequence: sequence, date: context.date)
        bytes += cost
        return .found(value, cost: cost)
    }

    /// Adds an entry, whose key is not present, as the most recent one.
    @inlinable
    mutating func add(_ entry: consuming Entry<Key, Value>, sequence: UInt64, date: Double) {
        let (hash, originalHash, cost, isPinned) = (entry.hash, entry.originalHash, entry.cost, entry.isPinned)
        let original = entry.key.original
        let isHeld = entry.value == nil
        let slot = slots.add(entry)
        keys.insert(slot, hash: hash)
        if let first = originals.slot(hash: originalHash, where: { slots[$0]?.key.original == original }) {
            originals.replace(first, by: slot, hash: originalHash)
            slots[slot]?.nextVariant = first
            slots[first]?.previousVariant = slot
        } else {
            originals.insert(slot, hash: originalHash)
        }
        if isHeld {
            slots.prepend(slot, to: &held, sequence: sequence, date: date)
            return
        }
        bytes += cost
        if isPinned {
            pinnedBytes += cost
            slots.prepend(slot, to: &pinned, sequence: sequence, date: date)
        } else {
            slots.prepend(slot, to: &free, sequence: sequence, date: date)
        }
    }

    /// Removes an entry. `bytes`: the reduction of the usage.
    @inlinable
    mutating func remove(_ slot: Int32) -> (value: Value?, bytes: Int) {
        unlink(slot)
        guard let entry = slots[slot] else { return (nil, 0) }
        keys.remove(slot, hash: entry.hash)
        if entry.nextVariant != Use.none { slots[entry.nextVariant]?.previousVariant = entry.previousVariant }
        if entry.previousVariant != Use.none {
            slots[entry.previousVariant]?.nextVariant = entry.nextVariant
        } else if entry.nextVariant != Use.none {
            originals.replace(slot, by: entry.nextVariant, hash: entry.originalHash)
        } else {
            originals.remove(slot, hash: entry.originalHash)
        }
        _ = slots.take(slot)
        return (entry.value, entry.value == nil ? 0 : entry.cost)
    }

    /// Removes an entry from its list and its bytes from the sums.
    @inlinable
    mutating func unlink(_ slot: Int32) {
        guard let (cost, isHeld, isPinned) = slots[slot].map({ ($0.cost, $0.value == nil, $0.isPinned) }) else {
            return
        }
        if isHeld {
            slots.unlink(slot, from: &held)
            return
        }
        bytes -= cost
        if isPinned {
            pinnedBytes -= cost
            slots.unlink(slot, from: &pinned)
        } else {
            slots.unlink(slot, from: &free)
        }
    }
}
