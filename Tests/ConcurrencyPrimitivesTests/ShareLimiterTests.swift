import ConcurrencyPrimitives
import Testing

struct ShareLimiterTests {
    @Test func `a client gets no more than its share, even if more is free`() throws {
        var limiter = ShareLimiter(.init(total: 10, perClient: 3))
        try limiter.take(3, for: "a")
        #expect(throws: ShareLimiter.Shortage.client) { try limiter.take(for: "a") }
        try limiter.take(2, for: "b")
        limiter.release(2, for: "a")
        #expect(limiter.used == 3 && limiter.used(by: "a") == 1)
        try limiter.take(2, for: "a")
    }

    @Test func `a shortage for all clients is reported as a shortage of the total`() throws {
        var limiter = ShareLimiter(.init(total: 4, perClient: 3))
        try limiter.take(2, for: "a")
        try limiter.take(2, for: "b")
        #expect(throws: ShareLimiter.Shortage.total) { try limiter.take(for: "c") }
        #expect(throws: ShareLimiter.Shortage.total) { try limiter.take(for: "a") }
    }

    @Test func `a share as large as the total does not limit a client further`() throws {
        var limiter = ShareLimiter(.init(total: 1, perClient: 1))
        try limiter.take(for: "a")
        #expect(throws: ShareLimiter.Shortage.total) { try limiter.take(for: "a") }
    }

    @Test func `requests without a client are limited only by the total`() throws {
        var limiter = ShareLimiter(.init(total: 4, perClient: 1))
        for _ in 0..<4 { try limiter.take(for: nil) }
        #expect(throws: ShareLimiter.Shortage.total) { try limiter.take(for: nil) }
    }

    @Test(arguments: [Int.min, -1, 0])
    func `a limit below zero allows nothing`(_ limit: Int) {
        for limits in [ShareLimiter.Limits(total: limit), .init(total: 4, perClient: limit)] {
            var limiter = ShareLimiter(limits)
            #expect(throws: ShareLimiter.Shortage.self) { try limiter.take(for: "a") }
            #expect(limiter.used == 0)
        }
    }

    @Test func `the default share is a quarter of the total, and at least one`() {
        #expect(ShareLimiter.Limits(total: 64).perClient == 16)
        #expect(ShareLimiter.Limits(total: 3).perClient == 1)
    }
}
