/// The most frequent items of a stream, by the algorithm of Misra and Gries.
///
/// With room for `k` items, a count is too low by at most a `k`-th of the stream. An item with a larger share is therefore always included.
struct FrequentItems<Item: Hashable & Sendable>: Sendable {
    /// The count of an item.
    struct Count: Sendable, Equatable {
        var requests = 0
        var bytes: Int64 = 0
    }

    private let room: Int
    private(set) var counts: [Item: Count] = [:]

    init(room: Int) { self.room = room }

    mutating func note(_ item: Item, bytes: Int64 = 0) {
        if counts[item] == nil, counts.count >= room {
            counts = counts.compactMapValues { count in
                count.requests > 1 ? Count(requests: count.requests - 1, bytes: count.bytes) : nil
            }
            return
        }
        counts[item, default: Count()].requests += 1
        counts[item, default: Count()].bytes += bytes
    }

    /// The sums of the counts of two streams.
    func merged(with other: FrequentItems) -> [Item: Count] {
        counts.merging(other.counts) { Count(requests: $0.requests + $1.requests, bytes: $0.bytes + $1.bytes) }
    }
}
