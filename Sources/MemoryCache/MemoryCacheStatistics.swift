public import FoundationEssentials

/// What has happened in a memory cache since it was made.
public struct MemoryCacheCounts: Sendable, Hashable {
    /// Look-ups that found a value.
    public var hits = 0
    /// Those of the hits whose value the cache had let go of and found again at a caller.
    public var heldHits = 0
    /// Look-ups that found nothing, or a value past its time limit.
    public var misses = 0
    /// Values that came in, also those that took another's place.
    public var inserts = 0
    /// Values that were handed in and cost more than the capacity.
    public var tooLarge = 0
    /// Times that room was made: by an insert, by lower limits, or by memory pressure.
    public var purges = 0
    /// Entries that purges took.
    public var purgedEntries = 0
    /// Bytes that purges took, the sum of the entries' costs.
    public var purgedBytes = 0
    /// Entries that a look-up found past their time limit.
    public var expired = 0
    /// Entries that calls removed.
    public var removed = 0

    public init() {}
}

/// A memory cache at one moment. Sizes are bytes.
public struct MemoryCacheStatistics: Sendable, Hashable {
    public var limits: MemoryCacheLimits
    /// The sum of all entries' costs.
    public var bytes = 0
    public var entries = 0
    /// The part of `bytes` that is pinned.
    public var pinnedBytes = 0
    /// The part of `entries` that is pinned.
    public var pinnedEntries = 0
    public var counts = MemoryCacheCounts()
}

/// A memory cache's entries at one moment, for a debug view.
public struct MemoryCacheSnapshot<Key: MemoryCacheKey>: Sendable {
    /// One value in the cache, without the value itself.
    public struct Entry: Sendable {
        public let key: Key
        /// In bytes, as given at the insert.
        public let cost: Int
        /// When it was inserted or hit last, by the wall clock. The order is not taken from it.
        public let lastAccessDate: Date
        /// What is left until its time limit; zero when it is past; nil: none.
        public let timeLeft: Duration?
        public let isPinned: Bool
    }

    /// In the order of their last access, the one that a purge takes first at the beginning.
    ///
    /// Pinned ones stand in the same order, although a purge takes them last.
    public let entries: [Entry]
    public let statistics: MemoryCacheStatistics
}
