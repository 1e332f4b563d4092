import Foundation
import ImageCache
import Metrics
import Testing
import Units

@testable import ImageProxyAdmin

@Suite struct SeriesRingTests {
    private func ring(_ notes: [(Int, Int)], step: Int = 1, capacity: Int = 4) -> SeriesRing<Int> {
        var ring = SeriesRing<Int>(step: step, capacity: capacity)
        for (value, time) in notes { ring.note(value, until: time) }
        return ring
    }

    @Test func `a series keeps its newest values, and unknown ones are nil`() {
        let young = ring([(1, 100), (2, 101)]).slice(since: nil, now: 101)
        #expect(young.start == 97)
        #expect(young.values == [nil, nil, 1, 2])
        let full = ring((1...9).map { ($0, 100 + $0) }).slice(since: nil, now: 200)
        #expect(full.start == 105)
        #expect(full.values == [6, 7, 8, 9])
    }

    @Test func `a request for new values returns only those, and never more than exist`() {
        let ring = ring((1...9).map { ($0, 100 + $0) })
        #expect(ring.slice(since: 107, now: 0).values == [8, 9])
        #expect(ring.slice(since: 109, now: 0).values == [])
        #expect(ring.slice(since: 500, now: 0).values == [])
        #expect(ring.slice(since: 3, now: 0).start == 105)
    }

    @Test func `missed steps have the average`() {
        #expect(ring([(1, 100), (5, 103)]).slice(since: nil, now: 0).values == [1, 5, 5, 5])
    }

    @Test func `a second note in the same step changes nothing`() {
        #expect(
            ring([(1, 60), (2, 61), (3, 119), (4, 120)], step: 60).slice(since: nil, now: 0).values == [nil, nil, 1, 4])
    }

    @Test(arguments: [50, 10_000])
    func `a series starts again after the clock stepped`(time: Int) {
        #expect(ring([(1, 100), (2, 101), (9, time)]).slice(since: nil, now: 0).values == [nil, nil, nil, 9])
    }

    @Test func `a series has no known values before the first one`() {
        let slice = ring([], step: 60).slice(since: nil, now: 6_000)
        #expect(slice.start == 6_000 - 240)
        #expect(slice.values == [nil, nil, nil, nil])
    }
}

@Suite struct TrafficTests {
    private let start = Date(timeIntervalSince1970: 1_700_000_040)

    private func totals(requests: Int, hits: Int, misses: Int = 0, sent: Int = 0, origin: Int = 0) -> TrafficTotals {
        var totals = TrafficTotals()
        (totals.requests, totals.hits, totals.misses) = (requests, hits, misses)
        (totals.sentBytes, totals.originBytes) = (sent, origin)
        return totals
    }

    @Test func `traffic totals equal the metrics, by cache outcome and error`() {
        let registry = MetricsRegistry()
        for (outcome, status, count) in [
            ("hit", "2xx", 5), ("stale", "2xx", 1), ("revalidated", "3xx", 1), ("collapsed", "2xx", 2),
            ("miss", "2xx", 3),
            ("pass", "2xx", 4), ("none", "4xx", 6), ("miss", "5xx", 7), ("none", "5xx", 8),
        ] {
            Counter(
                label: "imgcache_requests_total", dimensions: [("cache", outcome), ("status", status)],
                factory: registry
            ).increment(by: count)
        }
        Counter(label: "imgcache_response_bytes_total", factory: registry).increment(by: 1000)
        Counter(label: "something_else_total", factory: registry).increment(by: 77)
        Timer(label: "imgcache_request_duration_seconds", dimensions: [("cache", "hit")], factory: registry)
            .recordNanoseconds(1_000_000)
        var transfers = TransferTotals()
        transfers.bytesReceived = 300
        transfers.attempts = 10
        let totals = TrafficTotals(registry, transfers)
        #expect(totals.requests == 37)
        #expect(totals.hits == 9)
        #expect(totals.misses == 3)
        #expect(totals.passed == 4)
        #expect(totals.clientErrors == 6)
        #expect(totals.serverErrors == 15)
        #expect(totals.savedBytes == 700)
        #expect(totals.originRequests == 10)
        #expect(totals.latency.count == 1)
    }

    @Test func `traffic history has separate rates for each second and each minute`() throws {
        let history = TrafficHistory()
        // GIVEN ten requests a second, eight of them hits, for two minutes
        for second in 0...120 {
            history.note(
                totals(
                    requests: second * 10, hits: second * 8, misses: second * 2, sent: second * 100, origin: second * 40
                ),
                at: start.addingTimeInterval(Double(second)))
        }
        let now = start.addingTimeInterval(120)
        let seconds = history.slice(.second, since: nil, now: now)
        #expect(seconds.points.count == 600)
        #expect(seconds.start == 1_700_000_160 - 600)
        let last = try #require(seconds.points[599])
        #expect((last.requests, last.hits, last.misses, last.sent, last.origin, last.saved) == (10, 8, 2, 100, 40, 60))
        #expect(last.p50 == nil)
        #expect(seconds.points[479] == nil)
        let minutes = history.slice(.minute, since: nil, now: now)
        #expect(minutes.points.count == 1440)
        #expect(minutes.points.suffix(3).map { $0?.requests } == [nil, 10, 10])
        #expect(history.recent?.requests == 10)
        #expect(history.totals.requests == 1200)
    }

    @Test func `clocks and counters that go back give no negative rates`() {
        let history = TrafficHistory()
        history.note(totals(requests: 100, hits: 100), at: start)
        history.note(totals(requests: 200, hits: 200), at: start.addingTimeInterval(1))
        history.note(totals(requests: 300, hits: 300), at: start.addingTimeInterval(-100))
        #expect(history.recent == nil)
        history.note(totals(requests: 5, hits: 5), at: start.addingTimeInterval(-99))
        let points = history.slice(.second, since: nil, now: start).points.compactMap(\.self)
        #expect(points.allSatisfy { $0.requests >= 0 && $0.requests <= 100 })
        #expect(history.totals.requests == 5)
    }
}
