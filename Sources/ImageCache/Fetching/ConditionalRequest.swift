import FoundationEssentials
import HTTPCaching
import HTTPTypes

/// The request to the origin that a look-up led to, with the stored responses that may replace its response.
struct ConditionalRequest: Sendable {
    /// The stored responses that the request refers to.
    let candidates: [StoredCandidate]
    /// The stored responses that a 304 confirms; `nil` if the request validates none.
    let validation: CacheValidation?
    /// The fields of its conditions, and those that are meant for caches on the way.
    let fields: HTTPFields
    /// The candidate that may be served stale if the origin cannot be reached.
    let fallback: Int?
    /// The reason for the request, as `Cache-Status` states it.
    var status: CacheStatus

    /// The final URL of the stored response that the request validates.
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

    /// A request that validates no stored response: the client's request as it is.
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
