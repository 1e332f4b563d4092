import FoundationEssentials
import HTTPSemantics
import HTTPTypes

// Requests: the first one of an attempt, and those after redirects.

extension TransferStateMachine {
    /// Begins an attempt, or sends the next request of an attempt after a redirect.
    ///
    /// - Parameter date: The time of the wall clock.
    mutating func start(at now: MonotonicTime, date: Date) -> Action {
        guard case .ready(let start) = state else { return .none }
        switch start {
        case .first where request.mayResume: return .loadPartial
        case .first: return beginAttempt(.nothing, at: now, date: date)
        case .attempt(let basis): return beginAttempt(basis, at: now, date: date)
        case .redirect(let attempt, let hop, let redirects): return send(hop, of: attempt, after: redirects, at: now)
        }
    }

    /// Handles the sink's held bytes: before the first attempt, or between two ranges.
    mutating func learned(held: HeldPartial?) -> Action {
        switch state {
        case .ready(.first):
            history.furthest = held?.heldBytes ?? 0
            history.resumedFrom = history.furthest
            state = .ready(.attempt(Basis(held)))
            return .again(restarting: nil)
        case .awaitingSink(.betweenRanges(let head, let before)): return rangeEnded(head, before: before, now: held)
        default: return .none
        }
    }

    private mutating func beginAttempt(_ basis: Basis, at now: MonotonicTime, date: Date) -> Action {
        history.attempts += 1
        let attempt = Attempt(basis: basis, startedAt: now, requestTime: date)
        return send(Hop(first: request), of: attempt, after: [], at: now)
    }

    private mutating func send(
        _ hop: Hop, of attempt: Attempt, after redirects: [RedirectHop], at now: MonotonicTime
    ) -> Action {
        var conditions = storedConditions(for: hop)
        let plan = ResumePlan(
            method: hop.method, fields: request.request.fields, held: attempt.basis.held, mayResume: request.mayResume,
            url: hop.url.text, signatures: rules.signatures, hasConditions: !conditions.isEmpty,
            forwardsErrorResponses: options.forwardsErrorResponses, provingTotal: attempt.basis.provingTotal)
        history.progress.received = 0
        if let reason = rules.addressPolicy.refusal(of: hop.endpoint) { return fail(error(.addressRefused, reason)) }
        let sent = SentRequest(attempt: attempt, hop: hop, redirects: redirects, plan: plan, sentAt: now)
        state = .exchanging(Exchange(request: sent), .awaitingHead(AwaitedHead()))
        if let ifRange = plan.ifRange { conditions[.ifRange] = ifRange }
        return .send(
            OutgoingRequest(
                hop: hop, range: plan.range, conditions: conditions,
                timeLeft: options.maxTime.map { $0 - (now - attempt.startedAt) },
                usesFreshConnection: history.needsFreshConnection))
    }

    private func storedConditions(for hop: Hop) -> HTTPFields {
        guard let conditions = request.request.conditions,
            rules.signatures.isSameResource(conditions.url, hop.url.text)
        else { return HTTPFields() }
        return conditions.fields
    }

    /// Records that a socket was refused because of its address, for this reason.
    mutating func refusedAddress(_ reason: String) {
        guard case .exchanging(let exchange, .awaitingHead(var awaited)) = state else { return }
        awaited.addressRefusal = reason
        state = .exchanging(exchange, .awaitingHead(awaited))
    }
}
