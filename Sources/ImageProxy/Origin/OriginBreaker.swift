/// Decides which requests are sent to an origin while some of them fail.
///
/// A value without a clock: the caller passes the time. It counts failures by client, so that one client cannot block the origin for
/// others:
///
/// * If most requests of one client fail, on several paths, only that client is refused.
/// * If consecutive requests of several clients fail without a response in between, and they include the last requests of most clients,
///   all clients are refused. A client whose own last request succeeded may retry at once; the others wait for the pause.
///
/// A probe is one request. If it succeeds, the breaker closes; if it fails, the pause doubles. Repeated failures of one path, requested by
/// one client, do not open the breaker: each request for the path gets its own failure.
package struct OriginBreaker: Sendable {
    package struct Limits: Sendable, Hashable {
        /// The number of failures that opens the breaker.
        package var failures = 10
        /// The idle time after which a client is forgotten.
        package var window: Duration = .seconds(60)
        /// The initial pause, and the longest.
        package var pause: Duration = .seconds(1)
        package var longestPause: Duration = .seconds(30)
        /// The time after which an unfinished probe is abandoned, and another one is let through.
        package var probeTime: Duration = .seconds(40)

        package init() {}
    }

    /// The client of a request, and the requested path.
    package struct Asker: Sendable, Hashable {
        fileprivate let client: Int
        fileprivate let path: Int

        /// - Parameter client: The client, or nil for the service itself.
        package init(client: String?, path: some StringProtocol) {
            self.client = client.hashValue
            self.path = path.hashValue
        }
    }

    package enum Outcome: Sendable, Hashable {
        case answered
        case failed
        /// The request was cancelled, which says nothing about the origin.
        case unknown
    }

    /// A state change to log.
    package enum Change: Sendable, Hashable {
        case opened
        /// The breaker opened for some of the active clients.
        case openedForSome
        case closed
    }

    /// The permission to send one request. Its outcome is reported with it.
    package struct Permit: Sendable, Hashable {
        fileprivate let asker: Asker
        /// The breaker's period. The outcome of a request from an earlier period is ignored.
        fileprivate let period: Int
        /// The number of the probe, or nil if the request is not a probe.
        fileprivate let probe: Int?
    }

    /// The counts of one client: failures, and all requests. Both are halved when they become large.
    private struct Tally: Sendable {
        let client: Int
        var failures = 0
        var total = 0
        var hasJustFailed = false
        var seen: ContinuousClock.Instant
        /// The path of the first failure, and whether other paths also failed.
        var path: Int?
        var hasSeveralPaths = false

        mutating func note(hasFailed: Bool, _ path: Int, most: Int) {
            if total >= most { (failures, total) = (failures / 2, total / 2) }
            total += 1
            hasJustFailed = hasFailed
            guard hasFailed else {
                if failures == 0 { (self.path, hasSeveralPaths) = (nil, false) }
                return
            }
            failures += 1
            if let first = self.path { hasSeveralPaths = hasSeveralPaths || first != path } else { self.path = path }
        }

        func isFailing(_ limits: Limits) -> Bool {
            hasSeveralPaths && failures >= limits.failures && failures * 2 > total
        }
    }

    private enum State: Sendable {
        case closed
        case open(until: ContinuousClock.Instant, pause: Duration)
        /// A probe is running since this time, sent by a client whose last request failed (`isOfFailing`) or by another one.
        case halfOpen(since: ContinuousClock.Instant, pause: Duration, isOfFailing: Bool)
    }

    private var limits: Limits
    private var state = State.closed
    /// True if all clients are refused while the breaker is not closed.
    private var isForAll = false
    /// The clients of the most recent requests, latest first.
    private var tallies: [Tally] = []
    /// The failures of all clients since the origin's last response.
    private var failuresInARow = 0
    /// Incremented when the breaker opens and closes.
    private var period = 0
    private var probes = 0

    package init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Closes the breaker and sets new limits. The outcomes of earlier requests are then ignored.
    package mutating func restart(with limits: Limits) {
        self = OriginBreaker(limits, period: period + 1)
    }

    private init(_ limits: Limits, period: Int) {
        self.limits = limits
        self.period = period
    }

    package var isClosed: Bool { if case .closed = state { true } else { false } }

    /// True while a probe is running.
    package var isHalfOpen: Bool { if case .halfOpen = state { true } else { false } }

    /// True unless all active clients are refused.
    package var isAvailable: Bool { isClosed || !isForAll && tallies.contains { !$0.isFailing(limits) } }

    /// The time until a refused client may retry, or zero if it may retry now.
    package func pauseLeft(at now: ContinuousClock.Instant) -> Duration {
        switch state {
        case .closed: .zero
        case .open(let until, _): max(.zero, until - now)
        case .halfOpen(let since, _, _): max(.zero, since + limits.probeTime - now)
        }
    }

    /// Decides whether a request may be sent. The caller then reports its end with ``finished(_:_:at:)``.
    package mutating func mayAsk(_ asker: Asker, at now: ContinuousClock.Instant) -> Permit? {
        let tally = tallies.first { $0.client == asker.client }
        let hasFailed = isForAll ? tally?.hasJustFailed ?? false : tally?.isFailing(limits) ?? false
        guard isForAll || hasFailed else { return Permit(asker: asker, period: period, probe: nil) }
        switch state {
        case .closed: return Permit(asker: asker, period: period, probe: nil)
        case .open(let until, let pause):
            guard now >= until || !hasFailed else { return nil }
            return probe(asker, pause, isOfFailing: hasFailed, at: now)
        case .halfOpen(let since, let pause, let isOfFailing):
            // A probe by a failing client does not block other clients.
            guard now - since >= limits.probeTime || isOfFailing && !hasFailed else { return nil }
            return probe(asker, pause, isOfFailing: hasFailed, at: now)
        }
    }

    private mutating func probe(
        _ asker: Asker, _ pause: Duration, isOfFailing: Bool, at now: ContinuousClock.Instant
    ) -> Permit {
        state = .halfOpen(since: now, pause: pause, isOfFailing: isOfFailing)
        probes += 1
        return Permit(asker: asker, period: period, probe: probes)
    }

    /// Records the end of a request that ``mayAsk(_:at:)`` let through. It has no effect if the request began in another period.
    package mutating func finished(_ outcome: Outcome, _ permit: Permit, at now: ContinuousClock.Instant) -> Change? {
        guard permit.period == period, permit.probe == nil || permit.probe == probes else { return nil }
        if outcome != .unknown { note(outcome, of: permit.asker, at: now) }
        guard permit.probe != nil, case .halfOpen(_, let pause, _) = state else {
            return outcome == .failed ? openIfNecessary(at: now) : nil
        }
        switch outcome {
        case .answered:
            tallies.removeAll { $0.hasJustFailed || $0.isFailing(limits) }
            (state, isForAll) = (.closed, false)
            period += 1
            return .closed
        case .unknown: state = .open(until: now, pause: pause)
        case .failed:
            let pause = min(pause * 2, limits.longestPause)
            state = .open(until: now + pause, pause: pause)
        }
        return nil
    }

    /// The number of clients whose last requests are considered when the breaker decides for all clients.
    private var mostVoters: Int { limits.failures * 2 }

    /// The number of clients that must fail before all are refused; fewer are refused each by itself.
    private var leastVoters: Int { max(2, limits.failures / 2) }

    private mutating func note(_ outcome: Outcome, of asker: Asker, at now: ContinuousClock.Instant) {
        tallies.removeAll { now - $0.seen > limits.window }
        if outcome == .answered || tallies.isEmpty { failuresInARow = 0 }
        if outcome == .failed { failuresInARow += 1 }
        let index = tallies.firstIndex { $0.client == asker.client }
        var tally = index.map { tallies.remove(at: $0) } ?? Tally(client: asker.client, seen: now)
        tally.seen = now
        tally.note(hasFailed: outcome == .failed, asker.path, most: limits.failures * 2)
        tallies.insert(tally, at: 0)
        if tallies.count > max(mostVoters, 64) { tallies.removeLast() }
    }

    private mutating func openIfNecessary(at now: ContinuousClock.Instant) -> Change? {
        let voters = tallies.prefix(mostVoters)
        let failing = voters.filter(\.hasJustFailed)
        let areMost = failing.count >= leastVoters && failing.count * 2 > voters.count
        let wasForAll = isForAll
        if areMost, failuresInARow >= limits.failures { isForAll = true }
        // Open for some of the clients, and now for all.
        guard isClosed else { return isForAll && !wasForAll ? .opened : nil }
        guard isForAll || tallies.contains(where: { $0.isFailing(limits) }) else { return nil }
        state = .open(until: now + limits.pause, pause: limits.pause)
        period += 1
        return isAvailable ? .openedForSome : .opened
    }
}
