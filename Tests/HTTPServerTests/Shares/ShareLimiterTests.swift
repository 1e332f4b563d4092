import Locking
import Testing

@testable import HTTPServer

struct ShareLimiterTests {
    @Test func `a client gets its share and no more, whatever is left`() throws {
        var limiter = ShareLimiter(.init(total: 10, perClient: 3))
        try limiter.take(3, for: "a")
        #expect(throws: ShareLimiter.Shortage.client) { try limiter.take(for: "a") }
        try limiter.take(2, for: "b")
        limiter.giveBack(2, for: "a")
        #expect(limiter.used == 3 && limiter.used(by: "a") == 1)
        try limiter.take(2, for: "a")
    }

    @Test func `what is used up for all is told as such`() throws {
        var limiter = ShareLimiter(.init(total: 4, perClient: 3))
        try limiter.take(2, for: "a")
        try limiter.take(2, for: "b")
        #expect(throws: ShareLimiter.Shortage.total) { try limiter.take(for: "c") }
        #expect(throws: ShareLimiter.Shortage.total) { try limiter.take(for: "a") }
    }

    @Test func `a share that is not less than the whole is no share`() throws {
        var limiter = ShareLimiter(.init(total: 1, perClient: 1))
        try limiter.take(for: "a")
        #expect(throws: ShareLimiter.Shortage.total) { try limiter.take(for: "a") }
    }

    @Test func `nobody in particular has no share of its own`() throws {
        var limiter = ShareLimiter(.init(total: 4, perClient: 1))
        for _ in 0..<4 { try limiter.take(for: nil) }
        #expect(throws: ShareLimiter.Shortage.total) { try limiter.take(for: nil) }
    }

    @Test func `a share is a quarter, and at least one`() {
        #expect(ShareLimiter.Limits(total: 64).perClient == 16)
        #expect(ShareLimiter.Limits(total: 3).perClient == 1)
    }
}

struct FairOrderTests {
    /// The order in which requests are served that all wait already.
    private func served(_ clients: [String?]) -> [Int] {
        var order = FairOrder()
        let tags = clients.map { order.tag(for: $0) }
        return clients.indices.sorted { (tags[$0], $0) < (tags[$1], $1) }
    }

    @Test func `clients take turns, and the requests of one keep their order`() {
        #expect(served(["a", "a", "a", "b", "b", "c"]) == [0, 3, 5, 1, 4, 2])
        #expect(served([nil, nil, nil]) == [0, 1, 2])
    }

    @Test func `a client that comes late does not catch up on what it did not ask for`() {
        var order = FairOrder()
        for _ in 0..<100 { order.serve(order.tag(for: "a")) }
        let (late, next) = (order.tag(for: "b"), order.tag(for: "a"))
        #expect(late < next)
        #expect(order.tag(for: "b") <= next)
    }

    @Test func `when nobody waits, all begin anew`() {
        var order = FairOrder()
        for number in 0..<1000 { order.serve(order.tag(for: "\(number % 10)")) }
        order.reset()
        let (one, other) = (order.tag(for: "1"), order.tag(for: "new"))
        #expect(one == other)
    }
}

struct MinimumRateTests {
    @Test func `time is left for bytes at the least rate, and some beside it`() {
        let rate = MinimumRate(bytesPerSecond: 1000, grace: .seconds(10))
        #expect(rate.timeLeft(for: 0, after: .zero) == .seconds(10))
        #expect(rate.timeLeft(for: 5500, after: .seconds(4)) == .milliseconds(11_500))
        #expect(rate.timeLeft(for: 1000, after: .seconds(60)) == .zero)
        #expect(rate.timeLeft(for: .max, after: .zero).map { $0 > .seconds(1 << 40) } == true)
        #expect(MinimumRate(bytesPerSecond: 0).timeLeft(for: 1, after: .seconds(1000)) == nil)
    }
}
