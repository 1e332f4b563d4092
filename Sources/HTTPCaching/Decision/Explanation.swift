public import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

/// A description of a stored response's freshness, in words.
public struct Explanation: Sendable, Hashable, CustomStringConvertible {
    /// The lifetime, the age, and their source.
    public var freshness: Freshness
    /// The time until which it is fresh; `nil` if it must be validated before each use.
    public var freshUntil: Date?
    /// The decision on the next request for it.
    public var decision: CacheDecision
    /// One sentence on its present freshness.
    public var state: String
    /// One sentence on the reason.
    public var reason: String
    /// One sentence on the handling of the next request.
    public var next: String
    /// The fields that the next request to the origin would contain because of the stored response; empty if no request
    /// is sent.
    public var nextFields: HTTPFields

    public var description: String { "\(state) \(reason) \(next)" }
}

extension CacheRules {
    /// Explains the freshness of `stored` at `now`, and the handling of the next request.
    /// - Parameters:
    ///   - stored: The stored response.
    ///   - request: The request to assume; by default one for the same URL that selects it.
    ///   - now: The time at which its age is calculated.
    public func explain(_ stored: StoredResponse, for request: CacheRequest? = nil, now: Date) -> Explanation {
        var stored = stored
        if request == nil {
            // Only digests of the selecting fields are known: it is treated as selected by none.
            stored.selectingFields = selectingFields(
                of: HTTPFields(), for: stored.fields, redirects: stored.redirects)
        }
        let request =
            request
            ?? CacheRequest(method: stored.requestMethod == .head ? .head : .get, url: stored.requestURL)
        let facts = ResponseFacts(stored.fields, receivedAt: stored.responseTime, rules: self)
        let freshness = freshness(of: stored, facts: facts, at: now, freshnessOverride: request.freshnessOverride)
        let decision = decide(request, stored: [stored], now: now)
        let until = freshness.mustValidate ? nil : now.addingTimeInterval(Double(freshness.remaining))
        var explanation = Explanation(
            freshness: freshness, freshUntil: until, decision: decision, state: "", reason: "", next: "",
            nextFields: HTTPFields())
        explanation.state = state(freshness, until: until)
        explanation.reason = reason(stored, facts, freshness, now: now)
        switch decision {
        case .serve(let served):
            explanation.next = served.isStale ? "It is served all the same." : "It is served without asking the origin."
        case .serveAndRevalidate(_, let validation):
            explanation.next = "It is served at once and refreshed in the background (stale-while-revalidate)."
            explanation.nextFields = validation.fields
        case .validate(let validation):
            explanation.next = "The origin is asked with \(CacheRules.list(validation.fields))."
            explanation.nextFields = validation.fields
        case .forward(let forward):
            explanation.next = forwardSentence(forward)
            explanation.nextFields = forward.fields
            if let validator = forward.completingValidator { explanation.nextFields[.ifRange] = validator }
        case .fail: explanation.next = "The origin is not asked, and the request fails."
        }
        return explanation
    }

    private func state(_ freshness: Freshness, until: Date?) -> String {
        guard let until else { return "Must be confirmed before each use." }
        return freshness.isFresh
            ? "Fresh until \(HTTPDate.format(until)), for another \(freshness.remaining) s."
            : "Stale since \(HTTPDate.format(until)), for \(-freshness.remaining) s."
    }

    private func reason(_ stored: StoredResponse, _ facts: ResponseFacts, _ freshness: Freshness, now: Date) -> String {
        if stored.isInvalidated { return "It was invalidated." }
        if freshness.mustValidate, facts.directives.flags.contains(.noCache) { return "The response says no-cache." }
        if freshness.mustValidate, CacheRules.clockWentBack(since: stored.responseTime, now: now) {
            return "It comes from the future: the clock was set back."
        }
        if freshness.mustValidate { return "A redirect on the way to it may lead elsewhere next time." }
        let age = "its age is \(freshness.age) s"
        switch freshness.source {
        case .freshnessOverride: return "The application keeps it for \(freshness.lifetime) s, and \(age)."
        case .sharedMaxAge: return "The response says s-maxage=\(freshness.lifetime), and \(age)."
        case .maxAge: return "The response says max-age=\(freshness.lifetime), and \(age)."
        case .expires: return "Expires gives it \(freshness.lifetime) s, and \(age)."
        case .heuristic:
            return
                "Nothing says how long it is fresh; a tenth of its time since Last-Modified is \(freshness.lifetime) s, and \(age)."
        case .invalid: return "Its freshness information is invalid, so it counts as stale."
        case .nothing: return "Nothing says how long it is fresh."
        case .redirect: return "A redirect on the way to it is fresh for no longer."
        }
    }

    private func forwardSentence(_ forward: CacheForward) -> String {
        if let validator = forward.completingValidator {
            return "What is missing of it is asked for, if it still is the same (If-Range: \(validator))."
        }
        switch forward.reason {
        case .partial: return "It is incomplete and has no strong validator, so all of it is fetched anew."
        case .stale, .request: return "It has no validator, so all of it is fetched anew."
        case .varyMiss: return "The request differs in a field that Vary names, so the origin is asked."
        default: return "The origin is asked as if nothing were stored."
        }
    }

    private static func list(_ fields: HTTPFields) -> String {
        fields.map { "\($0.name.rawName): \($0.value)" }.joined(separator: " and ")
    }
}
