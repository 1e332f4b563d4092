import ConcurrencyPrimitives
import Testing

struct ShareLimiterTests {
    @Test func `a client gets its share and no more, whatever is left`() throws {
        var limiter = ShareLimiter(.init(total: 10, perClient: 3))
        try limiter.take(3, for: "a")
        #expect(throws: ShareLimiter.Shortage.client) { try limiter.take(for: "a") }
        try limiter.take(2, for: "b")
        limiter.release(2, for: "a")
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
