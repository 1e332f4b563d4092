import Testing
import Units

@Suite struct DurationHistogramTests {
    @Test func `bounds ascend, ten a decade, and 1, 2.5 and 5 of each are exported`() {
        let bounds = DurationHistogram.bounds
        #expect(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 })
        #expect(bounds.first == 10_000)
        #expect(bounds.last == 100_000_000_000)
        let exported = DurationHistogram.exported.map { bounds[$0] }
        #expect(Array(exported.prefix(4)) == [10_000, 25_000, 50_000, 100_000])
        #expect(exported.last == 100_000_000_000)
    }

    @Test func `a value on a bound counts below it, and one above the last bound counts only in total`() {
        var histogram = DurationHistogram()
        for value in [-5, 10_000, 10_001, 200_000_000_000] as [Int64] { histogram.note(value) }
        #expect(histogram.cumulative(at: 0) == 2)
        #expect(histogram.cumulative(at: 1) == 3)
        #expect(histogram.cumulative(at: DurationHistogram.bounds.count - 1) == 3)
        #expect(histogram.count == 4)
        #expect(histogram.sum == 200_000_020_001)
    }

    @Test func `percentiles are off by no more than their bucket`() throws {
        var histogram = DurationHistogram()
        #expect(histogram.percentile(0.5) == nil)
        for milliseconds in 1...1000 { histogram.note(Int64(milliseconds) * 1_000_000) }
        for (share, exact) in [(0.5, 500e6), (0.95, 950e6), (0.99, 990e6), (1.0, 1000e6)] {
            let found = try #require(histogram.percentile(share))
            #expect(abs(found - exact) <= exact * 0.05, "\(share): \(found)")
        }
        // All above the last bound: that bound is reported.
        var slow = DurationHistogram()
        slow.note(.max)
        #expect(slow.percentile(0.5) == 100e9)
    }

    @Test func `the difference from an earlier histogram is a histogram of the newer values`() {
        var histogram = DurationHistogram()
        histogram.note(1_000_000)
        let earlier = histogram
        histogram.note(5_000_000)
        var expected = DurationHistogram()
        expected.note(5_000_000)
        #expect(histogram.since(earlier) == expected)
    }
}
