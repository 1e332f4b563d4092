public import FoundationEssentials

/// Counts of a memory cache since its creation.
public struct MemoryCacheCounts: Sendable, Hashable {
    /// The number of look-ups that found a value.
    public var hits = 0
    /// The number of these whose value the cache had purged and found again at a caller.
    public var heldHits = 0
    /// The number of look-ups that found nothing.
    public var misses = 0
    /// The number of inserted values, including replacements.
    public var inserts = 0
    /// The number of values that were refused because they cost more than the capacity.
    public var tooLarge = 0
    /// The number of purges: by an insert, by lower limits, or by memory pressure.
    public var purges = 0
    /// The number of entries removed by purges.
    public var purgedEntries = 0
    /// The bytes removed by purges, the sum of the entries' costs.
    public var purgedBytes = 0
    /// The number of entries removed by calls.
    public var removed = 0

    @usableFromInline
    init() {}
}

/// Statistics of a memory cache at one moment. Sizes are in bytes.
public struct MemoryCacheStatistics: Sendable, Hashable {
    public var limits: MemoryCacheLimits
    /// The sum of all entries' costs.
    public var bytes = 0
    public var entries = 0
    public var counts = MemoryCacheCounts()

    /// The statistics of a cache without entries.
    package init(limits: MemoryCacheLimits) { self.limits = limits }
}

/// The entries of a memory cache at one moment, for a debug view.
public struct MemoryCacheSnapshot<Key: MemoryCacheKey>: Sendable {
    /// One value in the cache, without the value itself.
    public struct Entry: Sendable {
        public let key: Key
        /// In bytes, as given at the insertion.
        public let cost: Int
        /// The time of its insertion or last hit.
        public let lastAccessDate: Date
    }

    /// Ordered by `lastAccessDate`: a purge removes the first entry first.
    public let entries: [Entry]
    public let statistics: MemoryCacheStatistics
}
