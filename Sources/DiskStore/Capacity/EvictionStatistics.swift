import ConcurrencyPrimitives
public import FoundationEssentials

/// The evictions by which this process has kept the store within its capacity since it was opened.
///
/// The age of what is evicted tells whether the capacity is enough: when entries go that were used an hour ago, more room
/// would have made hits of them.
public struct EvictionStatistics: Sendable, Equatable {
    public private(set) var count = 0
    /// The bytes that the evicted entries occupied.
    public private(set) var bytes: Int64 = 0
    /// The newest eviction.
    public private(set) var last: Eviction?
    /// How long evicted entries had lain unused: how many of them in each band, the shortest first.
    public private(set) var ages = (bounds.map(Optional.some) + [nil]).map { AgeBand(upTo: $0, count: 0) }

    /// One entry that was evicted.
    public struct Eviction: Sendable, Equatable {
        public var date: Date
        /// How long it had not been used.
        public var age: Duration
    }

    /// Evicted entries that had lain unused for more than the band before says, and at most for so long.
    public struct AgeBand: Sendable, Equatable {
        /// nil: without end.
        public var upTo: Duration?
        public var count: Int
    }

    /// A minute, 5, 15, an hour, 4, 12, a day, 3, 7.
    private static let bounds = [60, 300, 900, 3600, 14_400, 43_200, 86_400, 259_200, 604_800].map(Duration.seconds)

    /// The ages of the newest ones, in milliseconds, for the median.
    private var recent: [Int64] = []
    private var place = 0
    private static let remembered = 255

    public init() {}

    /// How long the newest 255 evicted entries had lain unused, half of them longer; nil before the first.
    public var medianAge: Duration? {
        recent.isEmpty ? nil : .milliseconds(recent.sorted()[recent.count / 2])
    }

    /// - Parameters:
    ///   - now: in milliseconds since 1970, as `lastUse`.
    mutating func note(lastUse: Int64, allocated: Int64, now: Int64) {
        // The clock may have been set back.
        let age = max(0, now - lastUse)
        count += 1
        bytes += allocated
        last = Eviction(date: Index.date(now), age: .milliseconds(age))
        let band = ages.firstIndex { $0.upTo.map { age <= $0.components.seconds * 1000 } ?? true } ?? ages.count - 1
        ages[band].count += 1
        if recent.count < Self.remembered {
            recent.append(age)
        } else {
            recent[place] = age
            place = (place + 1) % Self.remembered
        }
    }
}

extension DiskStore {
    /// The evictions, and how long their entries had lain unused. Entries that were removed do not count.
    public var evictions: EvictionStatistics { index.withLock { $0.evictions } }
}
