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

        func permit(mayProbe: Bool = true, at now: ContinuousClock.Instant) -> CircuitBreaker.Permit? {
            breaker.mayAsk(mayProbe: mayProbe, at: now)
        }

        func finished(
            _ outcome: CircuitBreaker.Outcome, _ permit: CircuitBreaker.Permit, at now: ContinuousClock.Instant
        ) -> CircuitBreaker.Change? { breaker.finished(outcome, permit, at: now) }

        /// One request after the other, as far as they are let through; the last change.
        func ask(_ outcomes: CircuitBreaker.Outcome..., at now: ContinuousClock.Instant) -> CircuitBreaker.Change? {
            var change: CircuitBreaker.Change?
            for outcome in outcomes {
                guard let permit = permit(at: now) else { return nil }
                change = finished(outcome, permit, at: now)
            }
            return change
        }
    }

    private func opened() -> Subject {
        let breaker = Subject()
        _ = breaker.ask(.timedOut, at: start)
        return breaker
    }

    @Test func `three failures in a row open the circuit`() {
        let breaker = Subject()
        #expect(breaker.ask(.failed, at: start) == nil && breaker.ask(.failed, at: start) == nil)
        #expect(breaker.ask(.failed, at: start) == .opened)
        #expect(breaker.permit(at: start) == nil && !breaker.isClosed)
    }

    @Test func `a response between failures resets the count of failures`() {
        let breaker = Subject()
        #expect(breaker.ask(.failed, .failed, quick, .failed, .failed, at: start) == nil)
        #expect(breaker.isClosed)
    }

    @Test func `an inconclusive success does not reset the count of failures`() {
        let breaker = Subject()
        #expect(breaker.ask(.failed, .unknown, .failed, .unknown, at: start) == nil && breaker.isClosed)
        #expect(breaker.ask(.failed, at: start) == .opened)
        let other = Subject()
        #expect(other.ask(slow, .unknown, slow, .unknown, slow, at: start) == .opened)
    }

    @Test func `one time-out opens the circuit`() {
        #expect(Subject().ask(.timedOut, at: start) == .opened)
    }

    @Test func `slow responses in a row open the circuit, unless a quick one comes between them`() {
        let breaker = Subject()
        #expect(breaker.ask(slow, slow, quick, slow, slow, at: start) == nil && breaker.isClosed)
        #expect(breaker.ask(slow, at: start) == .opened)
    }

    @Test func `one probe is let through after the pause, and its success closes the circuit`() throws {
        let breaker = opened()
        #expect(breaker.permit(at: start + .milliseconds(999)) == nil)
        let now = start + .seconds(1)
        let probe = try #require(breaker.permit(at: now))
        #expect(breaker.permit(at: now) == nil, "one probe at a time")
        #expect(breaker.finished(quick, probe, at: now) == .closed)
        #expect(breaker.permit(at: now) != nil)
    }

    @Test func `a request that cannot be a probe is let through only after a probe has succeeded`() {
        let breaker = opened()
        let now = start + .seconds(1)
        #expect(breaker.permit(mayProbe: false, at: now) == nil)
        #expect(breaker.ask(quick, at: now) == .closed)
        #expect(breaker.permit(mayProbe: false, at: now) != nil)
    }

    @Test(arguments: [CircuitBreaker.Outcome.failed, .timedOut, .responded(after: .seconds(1))])
    func `a probe that fails or is slow doubles the pause`(outcome: CircuitBreaker.Outcome) throws {
        let breaker = opened()
        var now = start + .seconds(1)
        for pause in [2, 4, 8, 16, 30, 30] {
            let probe = try #require(breaker.permit(at: now))
            #expect(breaker.finished(outcome, probe, at: now) == nil)
            now += .seconds(pause)
            #expect(breaker.permit(at: now - .milliseconds(1)) == nil)
        }
    }

    @Test func `a probe that never ends is given up, and its end ignored`() throws {
        let breaker = opened()
        let lost = try #require(breaker.permit(at: start + .seconds(1)))
        #expect(breaker.permit(at: start + .seconds(10)) == nil)
        let probe = try #require(breaker.permit(at: start + .seconds(11)))
        #expect(breaker.finished(.failed, lost, at: start + .seconds(11)) == nil)
        #expect(breaker.finished(quick, probe, at: start + .seconds(12)) == .closed)
    }

    @Test func `an inconclusive probe lets the next request probe and does not lengthen the pause`() {
        let breaker = opened()
        #expect(breaker.ask(.unknown, .failed, at: start + .seconds(1)) == nil)
        #expect(
            breaker.permit(at: start + .milliseconds(2999)) == nil && breaker.permit(at: start + .seconds(3)) != nil)
    }

    @Test(arguments: [CircuitBreaker.Outcome.failed, .timedOut, .unknown, .responded(after: .zero)])
    func `requests that began before the circuit opened do not affect it afterwards`(
        _ outcome: CircuitBreaker.Outcome
    ) throws {
        let breaker = Subject()
        let old = try (0..<3).map { _ in try #require(breaker.permit(at: start)) }
        #expect(breaker.ask(.timedOut, at: start) == .opened)
        #expect(breaker.finished(outcome, old[0], at: start) == nil)
        let now = start + .seconds(1)
        let probe = try #require(breaker.permit(at: now))
        #expect(breaker.finished(outcome, old[1], at: now) == nil)
        #expect(breaker.permit(at: now) == nil, "the probe is still under way")
        #expect(breaker.finished(quick, probe, at: now) == .closed)
        #expect(breaker.finished(outcome, old[2], at: now) == nil && breaker.isClosed)
    }
}
