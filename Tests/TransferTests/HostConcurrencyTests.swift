import TestSupport
import Testing

@testable import Transfer

@Suite("The number of transfers with one host")
struct HostConcurrencyTests {
    /// A host that answers each request after a time that depends on how many there are, at a clock that only it moves.
    private struct Host {
        var concurrency: HostConcurrency
        var now = MonotonicTime(nanoseconds: 0)
        /// The time to a response's first byte, by the number of requests at once.
        var latency: (Int) -> Duration

        /// Answers a round of as many requests as are allowed.
        mutating func answer(_ change: (inout HostConcurrency.Sample) -> Void = { _ in }) {
            let count = concurrency.limit
            let latency = latency(count)
            for _ in 0..<count {
                now = now + latency / count
                var sample = HostConcurrency.Sample(bytes: 20_000, latency: latency)
                change(&sample)
                _ = concurrency.ended(sample, at: now)
            }
        }
    }

    private func host(
        _ limits: HostConcurrency.Limits = .init(initial: 8, connections: 64), latency: @escaping (Int) -> Duration
    ) -> Host { Host(concurrency: HostConcurrency(limits), latency: latency) }

    @Test func `the limit triples with each round trip while responses stay as fast`() {
        var host = host { _ in .milliseconds(100) }
        var limits = [host.concurrency.limit]
        for _ in 0..<4 {
            host.answer()
            limits.append(host.concurrency.limit)
        }
        #expect(limits == [8, 24, 64, 64, 64])
    }

    @Test func `the limit stops growing where more transfers only wait for each other`() {
        // Twelve at a time: more are no faster.
        var host = host { count in .milliseconds(100 * max(1, count / 12)) }
        for _ in 0..<30 { host.answer() }
        #expect((8...36).contains(host.concurrency.limit))
    }

    @Test func `the limit goes back if more transfers gain nothing`() {
        // Responses begin at once, and take the longer the more there are.
        var concurrency = HostConcurrency(.init(initial: 8, connections: 64))
        var now = MonotonicTime(nanoseconds: 0)
        for _ in 0..<2000 {
            now = now + .milliseconds(10)
            _ = concurrency.ended(.init(bytes: 20_000, latency: .milliseconds(5)), at: now)
        }
        #expect(concurrency.limit == 8)
    }

    @Test func `the limit does not grow while no transfer waits`() {
        var host = host { _ in .milliseconds(100) }
        for _ in 0..<5 { host.answer { $0.isContended = false } }
        #expect(host.concurrency.limit == 8)
    }

    @Test func `a refusal halves the limit once, and the limit recovers by one with each round`() {
        var host = host { _ in .milliseconds(100) }
        for _ in 0..<4 { host.answer() }
        #expect(host.concurrency.limit == 64)
        for _ in 0..<20 { _ = host.concurrency.ended(.init(refusal: .tooManyRequests), at: host.now) }
        #expect(host.concurrency.limit == 32)
        host.now = host.now + .seconds(5)
        _ = host.concurrency.ended(.init(refusal: .tooManyRequests), at: host.now)
        #expect(host.concurrency.limit == 16)
        for _ in 0..<40 { host.answer() }
        #expect((20...40).contains(host.concurrency.limit))
    }

    @Test(arguments: [(429, 1), (503, 2)])
    func `a host that always refuses gets only a few transfers`(status: Int, least: Int) throws {
        let refusal = try #require(HostConcurrency.Refusal(status: status))
        var concurrency = HostConcurrency(.init(initial: 8, connections: 64))
        var now = MonotonicTime(nanoseconds: 0)
        for _ in 0..<10 {
            now = now + .seconds(10)
            _ = concurrency.ended(.init(refusal: refusal), at: now)
        }
        #expect(concurrency.limit == least)
    }

    @Test func `requests that share a connection are limited by its streams, from the first response on`() {
        var concurrency = HostConcurrency(.init(initial: 8, connections: 16, streams: 100))
        let now = MonotonicTime(nanoseconds: 0)
        #expect(concurrency.ended(.init(latency: .milliseconds(50), isMultiplexed: true), at: now) == 100)
    }

    @Test(arguments: [(1, 1), (4, 4), (100, 16)])
    func `the initial limit does not exceed the connections`(connections: Int, expected: Int) {
        #expect(HostConcurrency(.init(initial: 16, connections: connections)).limit == expected)
    }
}
