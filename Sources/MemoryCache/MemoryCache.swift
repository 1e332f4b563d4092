public import CLinux
public import ConcurrencyPrimitives
public import FoundationEssentials
import Glibc

/// A cache of values in memory that removes those with the oldest access when they exceed a number of bytes, or under memory pressure.
///
/// The cost of a value, in bytes, is given at its insertion and does not change: width × height × 4 for an RGBA8 image.
///
/// - An insert that raises the usage above ``MemoryCacheLimits/capacity`` purges the cache: it removes the entries with the oldest
///   `lastAccessDate` until the usage is at most ``MemoryCacheLimits/preferredUsage``. Inserts and hits are accesses.
/// - Entries with equal dates are ordered by their accesses. A clock that steps back does not change the order.
/// - A value that costs more than the capacity is not kept.
/// - ``respond(to:)`` purges under memory pressure; a ``MemoryPressureMonitor`` calls it automatically.
/// - With ``WeakValues``, a value that was purged while a caller holds it is found again.
///
/// Look-ups, inserts and removals take constant time, a purge takes time proportional to the removed entries. All methods may be called on
/// any thread. Values are released by the thread that removes them, outside of the lock: their `deinit` may call the cache.
///
/// ```swift
/// let cache = MemoryCache<ImageKey, DecodedImage>(monitor: monitor)
/// cache.insert(image, for: key, cost: image.width * image.height * 4)
/// let image = cache.value(for: key)
/// ```
public final class MemoryCache<Key: MemoryCacheKey, Value: Sendable>: Sendable {
    @usableFromInline let entries: Locked<Entries<Key, Value>>
    @usableFromInline let weakValues: WeakValues<Value>?
    @usableFromInline let monitor: MemoryPressureMonitor?
    @usableFromInline let now: @Sendable () -> Date

    /// - Parameters:
    ///   - limits: The limits. The default is 100 MiB, purged to 60 MiB.
    ///   - weakValues: Finds purged values again that callers hold; `nil`: none are found.
    ///   - monitor: A monitor whose reports of memory pressure this cache follows during its lifetime, and that is informed of every
    ///     insert, so that it checks in time.
    ///   - now: The clock for `lastAccessDate`. The default has the kernel's resolution (1 to 10 ms), and costs a fifth of an exact one.
    public init(
        limits: MemoryCacheLimits = .default, weakValues: WeakValues<Value>? = nil,
        monitor: MemoryPressureMonitor? = nil, now: @escaping @Sendable () -> Date = { coarseDate() }
    ) {
        entries = Locked(Entries(limits: limits))
        self.weakValues = weakValues
        self.monitor = monitor
        self.now = now
        monitor?.observe(by: self) { cache, pressure in cache.respond(to: pressure) }
    }

    /// The key's value, which becomes the one with the latest access; `nil` if there is none.
    @inlinable
    public func value(for key: Key) -> Value? {
        let date = now()
        if let value = entries.withLock({ $0.value(for: key, at: date) }) { return value }
        return weakValues.flatMap { heldValue(for: key, $0, at: date) }
    }

    /// Inserts a value, replacing the key's previous one.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key.
    ///   - cost: The cost in bytes; below 0 counts as 0.
    /// - Returns: True if the cache keeps the value. Otherwise it costs more than the capacity, or it raised the usage above the capacity
    ///   and is above the preferred usage by itself.
    @discardableResult
    @inlinable
    public func insert(_ value: Value, for key: Key, cost: Int) -> Bool {
        let cost = max(0, cost)
        let entry = CacheEntry(key: key, value: value, object: weakValues?.object(value), cost: cost, date: now())
        var (removed, isKept) = entries.withLock { $0.insert(entry) }
        // Nothing else adds to the values that callers may hold.
        if !removed.isEmpty || !isKept { release(&removed) }
        monitor?.grew(by: cost)
        return isKept
    }

    /// Removes and returns the key's value.
    @discardableResult
    @inlinable
    public func remove(_ key: Key) -> Value? {
        entries.withLock { $0.remove(key) }?.value
    }

    /// Removes every value made from the original, and no others. Values that callers hold are not found again either.
    ///
    /// - Returns: The number of values removed.
    @discardableResult
    @inlinable
    public func removeVariants(of original: Key.Original) -> Int {
        entries.withLock { $0.removeVariants(of: original) }.count
    }

    /// Removes all values. Those that callers hold are not found again either.
    public func removeAll() {
        _ = entries.withLock { $0.removeAll() }
    }

    deinit { removeAll() }

    // MARK: Limits and purges

    /// The limits of the cache.
    public var limits: MemoryCacheLimits { entries.withLock { $0.limits } }

    /// Sets new limits. If the usage exceeds the new capacity, the cache is purged at once.
    @inlinable
    public func setLimits(_ limits: MemoryCacheLimits) {
        var purged = entries.withLock { entries in
            entries.limits = limits
            return entries.purgeAboveCapacity()
        }
        release(&purged)
    }

    /// Purges because of memory pressure: to the preferred usage for a ``MemoryPressure/warning``, completely for
    /// ``MemoryPressure/critical``. Freed memory is returned to the system as far as the allocator allows.
    @inlinable
    public func respond(to pressure: MemoryPressure) {
        var purged = entries.withLock { $0.purge(to: pressure == .critical ? -1 : $0.limits.preferredUsage) }
        guard !purged.isEmpty else { return }
        release(&purged)
        clinux_trim_heap()
    }

    /// Releases entries outside of the lock.
    @inlinable
    func release(_ removed: inout [CacheEntry<Key, Value>]) {
        removed = []
        if weakValues != nil { _ = entries.withLock { $0.held.removeReleased() } }
    }

    /// The value of a key that the cache has purged and a caller holds. The cache keeps it again, unless it was removed meanwhile.
    @usableFromInline
    func heldValue(for key: Key, _ weakValues: WeakValues<Value>, at date: Date) -> Value? {
        guard let (object, cost) = entries.withLock({ $0.held.object(for: key) }), let value = weakValues.value(object)
        else { return nil }
        let entry = CacheEntry(key: key, value: value, object: object, cost: cost, date: date)
        var removed = entries.withLock { $0.restore(entry) }
        release(&removed)
        return value
    }

    // MARK: Inspection

    /// Statistics of the cache at one moment.
    public var statistics: MemoryCacheStatistics { entries.withLock { $0.statistics } }

    /// All entries, for a debug view. Blocks all other calls meanwhile.
    public var snapshot: MemoryCacheSnapshot<Key> { entries.withLock { $0.snapshot } }
}

/// The wall clock at the kernel's resolution.
@usableFromInline
func coarseDate() -> Date {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME_COARSE, &time)
    return Date(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
}
