import FoundationEssentials
import HTTPCaching
import HTTPTypes

/// The request for the origin that a look into the store came to, and what there is to fall back on.
struct ConditionalRequest: Sendable {
    /// The stored responses that it is about.
    let candidates: [StoredCandidate]
    /// The stored responses that a 304 confirms; `nil`: none is asked about.
    let validation: CacheValidation?
    /// The fields that make it conditional, and that caches on the way are to see.
    let fields: HTTPFields
    /// The candidate that may be served, stale as it is, when the origin cannot be reached.
    let fallback: Int?
    /// The reason for the request, as `Cache-Status` states it.
    var status: CacheStatus

    /// The final URL of the stored response that it is about.
    var storedURL: String? { validation.map { candidates[$0.candidate].record.finalURL } }

    init(_ validation: CacheValidation, _ candidates: [StoredCandidate]) {
        self.candidates = candidates
        self.validation = validation
        fields = validation.fields
        fallback = validation.mayServeStaleOnError ? validation.candidate : nil
        status = CacheDecision.validate(validation).cacheStatus()
    }

    init(_ forward: CacheForward, _ candidates: [StoredCandidate] = []) {
        self.candidates = candidates
        validation = nil
        fields = forward.fields
        fallback = forward.staleCandidate
        status = CacheDecision.forward(forward).cacheStatus()
    }

    /// Asks about no stored response: the client's request as it is.
    init(unconditional status: CacheStatus) {
        candidates = []
        validation = nil
        fields = [:]
        fallback = nil
        self.status = status
    }

    /// The candidate to serve in place of a response with this status, if the rules allow that.
    func staleCandidate(
        for request: CacheRequest, after status: HTTPResponse.Status, by rules: CacheRules, at now: Date
    ) -> Int? {
        guard let index = validation?.candidate ?? fallback else { return nil }
        let response = candidates[index].record.response
        if rules.mayServeStale(response, after: .status(status), for: request, now: now) { return index }
        // A response that may be served before the origin responds may also replace an error.
        let decision = StoredDecision(
            request, stored: [response], allowing: .staleWhileRevalidating, by: rules, at: now)
        return decision.needsRevalidation ? index : nil
    }
}
