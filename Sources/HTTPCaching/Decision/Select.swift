import FoundationEssentials
import HTTPTypes

/// The stored response selected for a request, if it may be used.
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
    /// Selects the most recent of the stored responses that match the request (RFC 9111 section 4), fresh or not.
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
            // A partial response that does not cover the requested part is unsuitable if there is another one.
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
            of: stored[best.index], facts: best.facts, at: now, freshnessOverride: request.freshnessOverride)
        return .found(Selected(index: best.index, facts: best.facts, freshness: freshness))
    }

    private func isCovered(by response: StoredResponse, _ facts: ResponseFacts, _ request: CacheRequest) -> Bool {
        if case .response = evaluate(response, facts: facts, for: request) { true } else { false }
    }

    /// Returns true if the response may be selected for the request, regardless of its freshness.
    func isCandidate(_ response: StoredResponse, _ request: CacheRequest, now: Date) -> Bool {
        guard CacheRules.methodMatches(response, request) else { return false }
        let facts = ResponseFacts(response.fields, receivedAt: response.responseTime, rules: self)
        return isVisible(response, facts, to: request, now: now) && isSelected(response, by: request.fields)
    }

    /// "the request method associated with the stored response allows it to be used for the presented request": a
    /// response to GET serves GET and HEAD, one to HEAD only HEAD, one to POST both, like one to GET (RFC 9110 section
    /// 9.3.3).
    static func methodMatches(_ response: StoredResponse, _ request: CacheRequest) -> Bool {
        if request.method == .get { return response.requestMethod == .get || response.requestMethod == .post }
        if request.method == .head { return response.requestMethod != .query }
        return response.requestMethod == request.method
    }

    /// For a request with an own lifetime, an entry of another version, or one from the future of a clock that was set
    /// back, counts as absent. For one without, entries stored only because of an own lifetime count as absent.
    private func isVisible(
        _ response: StoredResponse, _ facts: ResponseFacts, to request: CacheRequest, now: Date
    ) -> Bool {
        let flags = facts.directives.flags
        // A private and a shared cache may use one directory.
        if mode == .shared, flags.contains(.private) || hasPrivateRedirect(response) { return false }
        if !request.followsRedirects, !response.redirects.isEmpty { return false }
        guard hasVersion(response, of: request) else { return false }
        if let own = request.freshnessOverride, own.applies(to: response.status) {
            return !CacheRules.clockWentBack(since: response.responseTime, now: now)
        }
        if flags.contains(.noStore), !flags.contains(.mustUnderstand) { return false }
        return !request.isQuery || hasExplicitFreshness(facts)
    }

    /// "a cache MUST use the most recent one (as determined by the Date header field)" (RFC 9111 section 4); if some
    /// have no `Vary`, the most recent one that has it (section 4.1).
    private func isNewer(
        _ response: StoredResponse, _ facts: ResponseFacts, than other: StoredResponse, _ otherFacts: ResponseFacts
    ) -> Bool {
        if facts.hasVary != otherFacts.hasVary { return facts.hasVary }
        if facts.date != otherFacts.date { return facts.date > otherFacts.date }
        if response.responseTime != other.responseTime { return response.responseTime > other.responseTime }
        return response.isComplete && !other.isComplete
    }
}
