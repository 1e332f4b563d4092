public import FoundationEssentials

/// The entry of a key.
///
/// `@unchecked Sendable`: its links are used only under its cache's lock, and not after its removal.
@usableFromInline
struct CacheEntry<Key: MemoryCacheKey, Value: Sendable>: @unchecked Sendable {
    // The fields that a hit uses come first, in one line of the processor's cache.
    /// The neighbours in the order of access.
    @usableFromInline var newer: UnsafeMutablePointer<CacheEntry>?
    @usableFromInline var older: UnsafeMutablePointer<CacheEntry>?
    @usableFromInline var lastAccessDate: Date
    @usableFromInline let value: Value

    /// The object of the value (``WeakValues``).
    @usableFromInline let object: (any AnyObject & Sendable)?
    /// In bytes, as given at the insertion.
    @usableFromInline let cost: Int
    @usableFromInline let key: Key
    /// The neighbours among the entries of the same original.
    @usableFromInline var nextVariant: UnsafeMutablePointer<CacheEntry>?
    @usableFromInline var previousVariant: UnsafeMutablePointer<CacheEntry>?

    @inlinable
    init(key: Key, value: Value, object: (any AnyObject & Sendable)?, cost: Int, date: Date) {
        self.key = key
        self.value = value
        self.object = object
        self.cost = cost
        lastAccessDate = date
    }
}

/// The entries of a cache, in a list in the order of their `lastAccessDate`.
///
/// Removed entries are returned, so that their values are released outside of the lock. The owner calls ``removeAll()`` at the end.
@usableFromInline
struct Entries<Key: MemoryCacheKey, Value: Sendable> {
    /// An entry in its own memory: with a class, each step through the list would count references.
    @usableFromInline typealias Entry = UnsafeMutablePointer<CacheEntry<Key, Value>>
    @usableFromInline typealias Removed = [CacheEntry<Key, Value>]

    @usableFromInline var byKey: [Key: Entry] = [:]
    /// The first entry of each original, which leads to the others.
    @usableFromInline var byOriginal: [Key.Original: Entry] = [:]
    @usableFromInline var newest: Entry?
    @usableFromInline var oldest: Entry?
    @usableFromInline var held = HeldObjects<Key>()
    @usableFromInline var bytes = 0
    @usableFromInline var limits: MemoryCacheLimits
    @usableFromInline var counts = MemoryCacheCounts()

    @usableFromInline
    init(limits: MemoryCacheLimits) { self.limits = limits }

    @inlinable
    mutating func value(for key: Key, at date: Date) -> Value? {
        guard let entry = byKey[key] else {
            counts.misses += 1
            return nil
        }
        counts.hits += 1
        if entry != newest {
            unlink(entry)
            append(entry, at: date)
        } else {
            entry.pointee.lastAccessDate = max(entry.pointee.lastAccessDate, date)
        }
        return entry.pointee.value
    }

    /// Adds an entry in place of the key's previous one.
    @inlinable
    mutating func insert(_ new: CacheEntry<Key, Value>) -> (removed: Removed, isKept: Bool) {
        held.remove(new.key)
        var removed: Removed = []
        guard new.cost <= limits.capacity else {
            counts.tooLarge += 1
            held.insert(new)
            if let old = byKey.removeValue(forKey: new.key) { removed.append(disconnect(old)) }
            return (removed, false)
        }
        counts.inserts += 1
        let entry = Entry.allocate(capacity: 1)
        entry.initialize(to: new)
        if let old = byKey.updateValue(entry, forKey: new.key) { removed.append(disconnect(old)) }
        // The usage would be above the capacity, and above any number.
        if bytes > .max - new.cost { removed += purge(to: max(0, limits.preferredUsage - new.cost)) }
        connect(entry)
        removed += purgeAboveCapacity()
        return (removed, newest == entry)
    }

    /// Adds an entry for a held object, unless the object was removed or replaced meanwhile.
    @usableFromInline
    mutating func restore(_ new: CacheEntry<Key, Value>) -> Removed {
        counts.misses -= 1
        counts.hits += 1
        counts.heldHits += 1
        guard new.cost <= limits.capacity, held.contains(new) else { return [] }
        counts.inserts -= 1
        return insert(new).removed
    }

    @inlinable
    mutating func remove(_ key: Key) -> CacheEntry<Key, Value>? {
        held.remove(key)
        guard let entry = byKey.removeValue(forKey: key) else { return nil }
        counts.removed += 1
        return disconnect(entry)
    }

    @inlinable
    mutating func removeVariants(of original: Key.Original) -> Removed {
        held.removeVariants(of: original)
        var removed: Removed = []
        while let first = byOriginal[original], let entry = remove(first.pointee.key) { removed.append(entry) }
        return removed
    }

    @inlinable
    mutating func removeAll() -> Removed {
        counts.removed += byKey.count
        byKey = [:]
        byOriginal = [:]
        held = HeldObjects()
        bytes = 0
        var removed: Removed = []
        while let entry = oldest {
            oldest = entry.pointee.newer
            removed.append(entry.move())
            entry.deallocate()
        }
        newest = nil
        return removed
    }

    @inlinable
    mutating func purgeAboveCapacity() -> Removed {
        bytes > limits.capacity ? purge(to: limits.preferredUsage) : []
    }

    /// Removes the oldest entries until the usage is at most the given number of bytes; -1 removes all.
    @inlinable
    mutating func purge(to target: Int) -> Removed {
        var removed: Removed = []
        while bytes > target, let oldest {
            byKey[oldest.pointee.key] = nil
            let entry = disconnect(oldest)
            held.insert(entry)
            counts.purgedEntries += 1
            let (sum, overflow) = counts.purgedBytes.addingReportingOverflow(entry.cost)
            counts.purgedBytes = overflow ? .max : sum
            removed.append(entry)
        }
        if !removed.isEmpty { counts.purges += 1 }
        return removed
    }
}

extension Entries {
    /// Adds an entry to everything but ``byKey``.
    @inlinable
    mutating func connect(_ entry: Entry) {
        if let next = byOriginal.updateValue(entry, forKey: entry.pointee.key.original) {
            entry.pointee.nextVariant = next
            next.pointee.previousVariant = entry
        }
        append(entry, at: entry.pointee.lastAccessDate)
        bytes += entry.pointee.cost
    }

    /// Removes an entry from everything but ``byKey``, and frees its memory.
    @inlinable
    mutating func disconnect(_ pointer: Entry) -> CacheEntry<Key, Value> {
        unlink(pointer)
        let entry = pointer.move()
        pointer.deallocate()
        bytes -= entry.cost
        entry.nextVariant?.pointee.previousVariant = entry.previousVariant
        if let previous = entry.previousVariant {
            previous.pointee.nextVariant = entry.nextVariant
        } else {
            byOriginal[entry.key.original] = entry.nextVariant
        }
        return entry
    }

    /// Makes an entry the newest one. Its date is never before the previous entry's, even if the wall clock steps back.
    @inlinable
    mutating func append(_ entry: Entry, at date: Date) {
        entry.pointee.lastAccessDate = newest.map { max($0.pointee.lastAccessDate, date) } ?? date
        entry.pointee.older = newest
        entry.pointee.newer = nil
        if let newest { newest.pointee.newer = entry } else { oldest = entry }
        newest = entry
    }

    @inlinable
    mutating func unlink(_ entry: Entry) {
        let (newer, older) = (entry.pointee.newer, entry.pointee.older)
        if let newer { newer.pointee.older = older } else { newest = older }
        if let older { older.pointee.newer = newer } else { oldest = newer }
    }

    var statistics: MemoryCacheStatistics {
        var statistics = MemoryCacheStatistics(limits: limits)
        (statistics.bytes, statistics.entries, statistics.counts) = (bytes, byKey.count, counts)
        return statistics
    }

    var snapshot: MemoryCacheSnapshot<Key> {
        let entries = sequence(state: oldest) { next in
            defer { next = next?.pointee.newer }
            return next.map {
                MemoryCacheSnapshot<Key>.Entry(
                    key: $0.pointee.key, cost: $0.pointee.cost, lastAccessDate: $0.pointee.lastAccessDate)
            }
        }
        return MemoryCacheSnapshot(entries: Array(entries), statistics: statistics)
    }
}
