import FoundationEssentials
import HTTPTypes

/// The stored response that answers a request, if it may be used.
struct Selected {
    var index: Int
    var facts: ResponseFacts
    var freshness: Freshness
}

enum Selection {
    case found(Selected)
    case nothing(ForwardReason)
}

extension CacheRules {
    /// The most recent of the stored responses that match the request (RFC 9111 section 4), fresh or not.
    func select(_ request: CacheRequest, stored: [StoredResponse], now: Date) -> Selection {
        var best: (index: Int, facts: ResponseFacts, covers: Bool)?
        var reason = ForwardReason.uriMiss
        for (index, response) in stored.enumerated() {
            guard CacheRules.methodMatches(response, request) else { continue }
            let facts = ResponseFacts(response.fields, receivedAt: response.responseTime, rules: self)
            guard isVisible(response, facts, to: request, now: now) else { continue }
            guard isSelected(response, by: request.fields) else {
                reason = .varyMiss
                continue
            }
            // A part that lacks what is asked for is no suitable response while there is another.
            let covers = response.isComplete || isCovered(by: response, facts, request)
            if let current = best {
                if current.covers, !covers { continue }
                let isBetter = covers && !current.covers
                if !isBetter, !isNewer(response, facts, than: stored[current.index], current.facts) { continue }
            }
            best = (index, facts, covers)
        }
        guard let best else { return .nothing(reason) }
        let freshness = freshness(
            of: stored[best.index], facts: best.facts, at: now, ownLifetime: request.ownLifetime)
        return .found(Selected(index: best.index, facts: best.facts, freshness: freshness))
    }

    private func isCovered(by response: StoredResponse, _ facts: ResponseFacts, _ request: CacheRequest) -> Bool {
        if case .answer = answer(from: response, facts: facts, to: request) { true } else { false }
    }

    /// Whether a response may be chosen for the request at all, its freshness apart.
    func couldAnswer(_ response: StoredResponse, _ request: CacheRequest, now: Date) -> Bool {
        guard CacheRules.methodMatches(response, request) else { return false }
        let facts = ResponseFacts(response.fields, receivedAt: response.responseTime, rules: self)
        return isVisible(response, facts, to: request, now: now) && isSelected(response, by: request.fields)
    }

    /// "the request method associated with the stored response allows it to be used for the presented request": a GET's
    /// answers GET and HEAD, a HEAD's only HEAD, a POST's both as if it were a GET's (RFC 9110 section 9.3.3).
    static func methodMatches(_ response: StoredResponse, _ request: CacheRequest) -> Bool {
        if request.method == .get { return response.requestMethod == .get || response.requestMethod == .post }
        if request.method == .head { return response.requestMethod != .query }
        return response.requestMethod == request.method
    }

    /// An entry of another version of the application's, or from the future of a clock that was set back, counts as absent
    /// for a request with an own lifetime. For one without, entries count that are there only because of an own lifetime.
    private func isVisible(
        _ response: StoredResponse, _ facts: ResponseFacts, to request: CacheRequest, now: Date
    ) -> Bool {
        let flags = facts.directives.flags
        // One directory may serve a private and a shared cache.
        if mode == .shared, flags.contains(.private) { return false }
        guard hasVersion(response, of: request) else { return false }
        if let own = request.ownLifetime, own.applies(to: response.status) {
            return !CacheRules.clockWentBack(since: response.responseTime, now: now)
        }
        if flags.contains(.noStore), !flags.contains(.mustUnderstand) { return false }
        return !request.isQuery || hasExplicitFreshness(facts)
    }

    /// "a cache MUST use the most recent one (as determined by the Date header field)" (RFC 9111 section 4), where some omit
    /// `Vary` the most recent one that has it (section 4.1).
    private func isNewer(
        _ response: StoredResponse, _ facts: ResponseFacts, than other: StoredResponse, _ otherFacts: ResponseFacts
    ) -> Bool {
        if facts.hasVary != otherFacts.hasVary { return facts.hasVary }
        if facts.date != otherFacts.date { return facts.date > otherFacts.date }
        if response.responseTime != other.responseTime { return response.responseTime > other.responseTime }
        return response.isComplete && !other.isComplete
    }
}
