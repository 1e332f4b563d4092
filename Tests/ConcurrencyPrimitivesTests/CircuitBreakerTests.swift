import ConcurrencyPrimitives
import Testing

@Suite("The breaker of a store or an origin")
struct CircuitBreakerTests {
    private let start = ContinuousClock.now
    private let quick = CircuitBreaker.Outcome.responded(after: .milliseconds(10))
    private let slow = CircuitBreaker.Outcome.responded(after: .milliseconds(600))

    /// A breaker that expressions may change.
    private final class Subject {
        private var breaker = CircuitBreaker()

        var isClosed: Bool { breaker.isClosed }
        func mayAsk(at now: ContinuousClock.Instant) -> Bool { breaker.mayAsk(at: now) }
        func finished(_ outcome: CircuitBreaker.Outcome, at now: ContinuousClock.Instant) -> CircuitBreaker.Change? {
            breaker.finished(outcome, at: now)
        }
    }

    private func opened() -> Subject {
        let breaker = Subject()
        for _ in 0..<3 { _ = breaker.finished(.failed, at: start) }
        return breaker
    }

    @Test func `three failures in a row open it`() {
        let breaker = Subject()
        #expect(breaker.finished(.failed, at: start) == nil && breaker.finished(.failed, at: start) == nil)
        #expect(breaker.mayAsk(at: start))
        #expect(breaker.finished(.failed, at: start) == .opened)
        #expect(!breaker.mayAsk(at: start) && !breaker.isClosed)
    }

    @Test func `a response between failures begins the count anew`() {
        let breaker = Subject()
        for outcome in [.failed, .failed, quick, .failed, .failed] {
            #expect(breaker.finished(outcome, at: start) == nil)
        }
        #expect(breaker.isClosed)
    }

    @Test func `one time-out is enough`() {
        let breaker = Subject()
        #expect(breaker.finished(.timedOut, at: start) == .opened)
    }

    @Test func `slow responses in a row open it, a quick one between them does not`() {
        let breaker = Subject()
        for outcome in [slow, slow, quick, slow, slow] { #expect(breaker.finished(outcome, at: start) == nil) }
        #expect(breaker.finished(slow, at: start) == .opened)
    }

    @Test func `after the pause one probe is let through, and its success closes it`() {
        let breaker = opened()
        #expect(!breaker.mayAsk(at: start + .milliseconds(999)))
        #expect(breaker.mayAsk(at: start + .seconds(1)))
        #expect(!breaker.mayAsk(at: start + .seconds(1)), "one probe at a time")
        #expect(breaker.finished(quick, at: start + .seconds(1)) == .closed)
        #expect(breaker.mayAsk(at: start + .seconds(1)))
    }

    @Test(arguments: [CircuitBreaker.Outcome.failed, .timedOut, .responded(after: .seconds(1))])
    func `a probe that fails or is slow doubles the pause`(outcome: CircuitBreaker.Outcome) {
        let breaker = opened()
        var now = start + .seconds(1)
        for pause in [2, 4, 8, 16, 30, 30] {
            #expect(breaker.mayAsk(at: now))
            #expect(breaker.finished(outcome, at: now) == nil)
            #expect(!breaker.mayAsk(at: now + .seconds(pause) - .milliseconds(1)))
            now += .seconds(pause)
        }
    }

    @Test func `a probe that never ends is given up`() {
        let breaker = opened()
        #expect(breaker.mayAsk(at: start + .seconds(1)))
        #expect(!breaker.mayAsk(at: start + .seconds(10)))
        #expect(breaker.mayAsk(at: start + .seconds(11)))
    }

    @Test func `a probe that tells nothing leaves the next request to try, and the pause as it was`() {
        let breaker = opened()
        #expect(breaker.mayAsk(at: start + .seconds(1)))
        #expect(breaker.finished(.unknown, at: start + .seconds(1)) == nil)
        #expect(breaker.mayAsk(at: start + .seconds(1)))
        #expect(breaker.finished(.failed, at: start + .seconds(1)) == nil)
        #expect(!breaker.mayAsk(at: start + .milliseconds(2999)) && breaker.mayAsk(at: start + .seconds(3)))
    }

    @Test func `what was let through before it opened changes nothing`() {
        let breaker = opened()
        #expect(breaker.finished(quick, at: start) == nil)
        #expect(!breaker.mayAsk(at: start))
    }
}
