import ConcurrencyPrimitives
import HTTPTypes
import Transfer

/// Tracks the health of an origin. While it fails, the affected clients are refused, and stored responses are served as the caching rules
/// allow.
///
/// A failure is a transfer in which the origin could not be reached or did not respond in time, or a status 502, 503 or 504. Failures of
/// another origin after a redirect do not count. The health outlives a configuration, so a reload keeps the state of an origin.
package final class OriginHealth: Sendable {
    /// The state of its health.
    package struct Snapshot: Sendable {
        /// `closed` while requests are sent, `open` while clients are refused, `half-open` while a probe is running.
        package var state: String
        /// True while any client may send requests.
        package var isAvailable: Bool
        /// Since the start: failed transfers, the number of times that clients began to be refused, and refused transfers.
        package var failures = 0
        package var openings = 0
        package var refused = 0
        package var traffic = OriginTraffic()
        package var recent = OriginTraffic.Recent()
    }

    /// A transfer that was admitted.
    struct Admission {
        /// `nil` if the breaker is disabled.
        let permit: OriginBreaker.Permit?
        let began: ContinuousClock.Instant
    }

    private struct State {
        var breaker: OriginBreaker
        /// `nil` disables the breaker.
        var limits: OriginBreaker.Limits?
        var failures = 0
        var openings = 0
        var refused = 0
        var traffic = OriginTraffic()
    }

    private let state: Locked<State>
    private let now: @Sendable () -> ContinuousClock.Instant
    private let changed: @Sendable (OriginBreaker.Change) -> Void
    private let started: ContinuousClock.Instant

    /// - Parameters:
    ///   - limits: The limits of the breaker, or nil to disable it.
    ///   - changed: Called when clients begin to be refused, and when they no longer are.
    package init(
        _ limits: OriginBreaker.Limits?, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        changed: @escaping @Sendable (OriginBreaker.Change) -> Void = { _ in }
    ) {
        state = Locked(State(breaker: OriginBreaker(limits ?? OriginBreaker.Limits()), limits: limits))
        self.now = now
        self.changed = changed
        started = now()
    }

    /// Applies new limits. Equal limits change nothing.
    package func update(_ limits: OriginBreaker.Limits?) {
        state.withLock { state in
            guard state.limits != limits else { return }
            state.limits = limits
            state.breaker.restart(with: limits ?? OriginBreaker.Limits())
        }
    }

    package var snapshot: Snapshot {
        let age = now() - started
        return state.withLock { state in
            let breaker = state.breaker
            return Snapshot(
                state: breaker.isClosed ? "closed" : breaker.isHalfOpen ? "half-open" : "open",
                isAvailable: breaker.isAvailable, failures: state.failures, openings: state.openings,
                refused: state.refused, traffic: state.traffic, recent: state.traffic.recent(at: age))
        }
    }

    /// Admits a transfer. The caller then reports its outcome with ``finished(_:_:)``.
    ///
    /// - Throws: The remaining pause, if the client is refused.
    func begin(_ asker: OriginBreaker.Asker) throws(OriginPause) -> Admission {
        let now = now()
        return try state.withLock { state throws(OriginPause) in
            guard state.limits != nil else { return Admission(permit: nil, began: now) }
            if let permit = state.breaker.mayAsk(asker, at: now) { return Admission(permit: permit, began: now) }
            state.refused += 1
            throw OriginPause(left: state.breaker.pauseLeft(at: now))
        }
    }

    func finished(_ outcome: GateOutcome, _ admission: Admission) {
        let now = now()
        let change = state.withLock { state in
            state.traffic.note(outcome, after: now - admission.began, at: now - started)
            let outcome = Self.outcome(outcome)
            if outcome == .failed { state.failures += 1 }
            let change = admission.permit.flatMap { state.breaker.finished(outcome, $0, at: now) }
            if change == .opened || change == .openedForSome { state.openings += 1 }
            return change
        }
        if let change { changed(change) }
    }

    private static func outcome(_ outcome: GateOutcome) -> OriginBreaker.Outcome {
        switch outcome {
        case .responded(.badGateway), .responded(.serviceUnavailable), .responded(.gatewayTimeout), .failed: .failed
        case .responded: .answered
        case .unknown: .unknown
        }
    }
}

/// The error of a transfer that was refused because its origin is failing.
package struct OriginPause: Error {
    /// The time until the next probe.
    package let left: Duration

    /// In whole seconds, at least one.
    var retryAfter: Int { max(1, Int((left / .seconds(1)).rounded(.up))) }
}
