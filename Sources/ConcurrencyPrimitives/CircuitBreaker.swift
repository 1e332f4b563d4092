/// Decides whether requests are sent to a server. After several consecutive failures or slow responses, they are stopped for a while.
///
/// A value without a clock: the caller passes the time. While the breaker is open, no requests are sent. After a pause one request is let
/// through as a probe. If the probe succeeds, the breaker closes; if it fails, the pause doubles.
package struct CircuitBreaker: Sendable {
    package struct Limits: Sendable, Hashable {
        /// Failures, or slow responses, in a row that open it.
        package var failures = 3
        /// The duration from which a response is slow.
        package var slow: Duration = .milliseconds(500)
        /// The first pause, and the longest.
        package var pause: Duration = .seconds(1)
        package var longestPause: Duration = .seconds(30)
        /// The time after which a probe that has not ended is given up, and another one let through.
        package var probeTime: Duration = .seconds(10)

        package init() {}
    }

    /// The outcome of a request to the server.
    package enum Outcome: Sendable, Hashable {
        /// It responded after this time.
        case responded(after: Duration)
        case failed
        /// It did not respond in time. Others are not to wait as long.
        case timedOut
        /// The request ended without telling anything of the server, as one that was cancelled does; or with less than a success would
        /// have to tell.
        case unknown
    }

    /// A change that is worth a line in the log.
    package enum Change: Sendable, Hashable {
        case opened
        case closed
    }

    /// The permission to send one request. Its outcome is reported with it.
    package struct Permit: Sendable, Hashable {
        /// The number of the breaker's period in which it was given: what was let through in another one says nothing of this one.
        fileprivate let period: Int
    }

    private enum State: Sendable {
        /// Failures and slow responses in a row.
        case closed(failures: Int, slow: Int)
        case open(until: ContinuousClock.Instant, pause: Duration)
        /// A probe is under way since then.
        case halfOpen(since: ContinuousClock.Instant, pause: Duration)
    }

    private var limits: Limits
    private var state = State.closed(failures: 0, slow: 0)
    /// Counts the changes of the state, and the probes.
    private var period = 0

    package init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Closes it, with other limits; the ends of requests that were let through before are ignored.
    package mutating func restart(with limits: Limits) {
        self.limits = limits
        enter(.closed(failures: 0, slow: 0))
    }

    package var isClosed: Bool { if case .closed = state { true } else { false } }

    /// True while a probe is under way.
    package var isHalfOpen: Bool { if case .halfOpen = state { true } else { false } }

    /// The time until the server may be asked again; zero when it may be asked now.
    package func pauseLeft(at now: ContinuousClock.Instant) -> Duration {
        switch state {
        case .closed: .zero
        case .open(let until, _): max(.zero, until - now)
        case .halfOpen(let since, _): max(.zero, since + limits.probeTime - now)
        }
    }

    /// Lets a request through, or not. The caller then reports its end: ``finished(_:_:at:)``.
    ///
    /// - Parameter mayProbe: False for a request whose success would say nothing of the others: none is let through before the breaker is closed.
    package mutating func mayAsk(mayProbe: Bool = true, at now: ContinuousClock.Instant) -> Permit? {
        switch state {
        case .closed: break
        case .open(let until, let pause):
            guard mayProbe, now >= until else { return nil }
            enter(.halfOpen(since: now, pause: pause))
        case .halfOpen(let since, let pause):
            guard mayProbe, now - since >= limits.probeTime else { return nil }
            enter(.halfOpen(since: now, pause: pause))
        }
        return Permit(period: period)
    }

    /// Notes the end of a request that ``mayAsk(mayProbe:at:)`` let through; without effect when it was let through in another period.
    package mutating func finished(
        _ outcome: Outcome, _ permit: Permit, at now: ContinuousClock.Instant
    ) -> Change? {
        guard permit.period == period else { return nil }
        switch state {
        case .closed(let failures, let slow):
            return finished(outcome, failures: failures, slow: slow, at: now)
        case .open: return nil
        case .halfOpen(_, let pause):
            switch outcome {
            case .responded(let time) where time < limits.slow:
                enter(.closed(failures: 0, slow: 0))
                return .closed
            case .unknown: enter(.open(until: now, pause: pause))
            case .responded, .failed, .timedOut:
                let pause = min(pause * 2, limits.longestPause)
                enter(.open(until: now + pause, pause: pause))
            }
            return nil
        }
    }

    private mutating func finished(
        _ outcome: Outcome, failures: Int, slow: Int, at now: ContinuousClock.Instant
    ) -> Change? {
        var (failures, slow) = (failures, slow)
        switch outcome {
        case .responded(let time): (failures, slow) = (0, time < limits.slow ? 0 : slow + 1)
        case .failed: failures += 1
        case .timedOut: failures = limits.failures
        case .unknown: break
        }
        guard failures >= limits.failures || slow >= limits.failures else {
            state = .closed(failures: failures, slow: slow)
            return nil
        }
        enter(.open(until: now + limits.pause, pause: limits.pause))
        return .opened
    }

    private mutating func enter(_ state: State) {
        self.state = state
        period += 1
    }
}
