import ConcurrencyPrimitives
public import FoundationEssentials

/// Statistics of the evictions by which this process has kept the store within its capacity since it was opened.
///
/// The age of evicted entries indicates if the capacity suffices: if entries used an hour ago are evicted, a larger
/// capacity would have produced more hits.
public struct EvictionStatistics: Sendable, Equatable {
    public private(set) var count = 0
    /// The space that the evicted entries occupied, in bytes.
    public private(set) var bytes: Int64 = 0
    /// The most recent eviction.
    public private(set) var last: Eviction?
    /// The number of evicted entries by the time since their last use, the shortest first.
    public private(set) var ages = (bounds.map(Optional.some) + [nil]).map { AgeBand(upTo: $0, count: 0) }

    /// One evicted entry.
    public struct Eviction: Sendable, Equatable {
        public var date: Date
        /// The time since its last use.
        public var age: Duration
    }

    /// The evicted entries whose time since last use exceeds the previous band's limit, but not this one's.
    public struct AgeBand: Sendable, Equatable {
        /// The limit, or nil for none.
        public var upTo: Duration?
        public var count: Int
    }

    /// A minute, 5, 15, an hour, 4, 12, a day, 3, 7.
    private static let bounds = [60, 300, 900, 3600, 14_400, 43_200, 86_400, 259_200, 604_800].map(Duration.seconds)

    /// The ages of the most recent ones, in milliseconds, for the median.
    private var recent: [Int64] = []
    private var place = 0
    private static let remembered = 255

    public init() {}

    /// The median time since last use of the most recent 255 evicted entries; nil before the first.
    public var medianAge: Duration? {
        recent.isEmpty ? nil : .milliseconds(recent.sorted()[recent.count / 2])
    }

    /// - Parameters:
    ///   - now: In milliseconds since 1970, like `lastUse`.
    mutating func note(lastUse: Int64, allocated: Int64, now: Int64) {
        // The clock may have been set back.
        let age = max(0, now - lastUse)
        count += 1
        bytes += allocated
        last = Eviction(date: Date(milliseconds: now), age: .milliseconds(age))
        let band = ages.firstIndex { $0.upTo.map { age <= $0.milliseconds } ?? true } ?? ages.count - 1
        ages[band].count += 1
        if recent.count < Self.remembered {
            recent.append(age)
        } else {
            recent[place] = age
            place = (place + 1) % Self.remembered
        }
    }
}
