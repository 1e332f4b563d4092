/// A histogram of durations: bounds of ten a decade from 10 µs to 100 s, so that a percentile is off by an eighth at
/// most.
package struct DurationHistogram: Sendable, Equatable {
    /// Upper bounds, inclusive, in nanoseconds, ascending. Greater values have a bucket of their own.
    package static let bounds: [Int64] =
        (0..<7).flatMap { decade -> [Int64] in
            let scale = (0..<decade).reduce(Int64(100)) { scale, _ in scale * 10 }
            return [100, 125, 150, 200, 250, 300, 400, 500, 600, 800].map { $0 * scale }
        } + [100_000_000_000]

    /// One count for each bound, and the last one unbounded.
    private(set) var counts = [Int](repeating: 0, count: Self.bounds.count + 1)
    package private(set) var count = 0
    /// In nanoseconds.
    package private(set) var sum: Int64 = 0

    package init() {}

    package mutating func note(_ nanoseconds: Int64) {
        let value = max(0, nanoseconds)
        counts[Self.bucket(of: value)] += 1
        count += 1
        sum = sum.addingReportingOverflow(value).overflow ? .max : sum + value
    }

    package mutating func note(_ duration: Duration) { note(duration.nanoseconds) }

    /// The first bound that is not less than the value.
    private static func bucket(of value: Int64) -> Int {
        var low = 0
        var high = bounds.count
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] < value { low = middle + 1 } else { high = middle }
        }
        return low
    }

    package mutating func add(_ other: DurationHistogram) {
        for index in counts.indices { counts[index] += other.counts[index] }
        count += other.count
        sum += other.sum
    }

    /// The durations recorded since `earlier`, a previous value of the same histogram.
    package func since(_ earlier: DurationHistogram) -> DurationHistogram {
        var difference = self
        for index in counts.indices { difference.counts[index] -= earlier.counts[index] }
        difference.count -= earlier.count
        difference.sum -= earlier.sum
        return difference
    }

    /// The percentile for a share, in nanoseconds, interpolated within its bucket; nil if there are no durations.
    package func percentile(_ share: Double) -> Double? {
        guard count > 0 else { return nil }
        let wanted = max(1, (share * Double(count)).rounded(.up))
        var seen = 0.0
        for (index, number) in counts.enumerated() where number > 0 {
            let before = seen
            seen += Double(number)
            guard seen >= wanted else { continue }
            guard index < Self.bounds.count else { return Double(Self.bounds[Self.bounds.count - 1]) }
            let lower = index == 0 ? 0 : Double(Self.bounds[index - 1])
            return lower + (Double(Self.bounds[index]) - lower) * (wanted - before) / Double(number)
        }
        return nil
    }

    /// The bounds exported to monitoring systems, three a decade.
    package static let exported: [Int] = bounds.indices.filter { [0, 4, 7].contains($0 % 10) }

    /// The number of durations up to the bound with an index.
    package func cumulative(at index: Int) -> Int { counts[...index].reduce(0, +) }
}
