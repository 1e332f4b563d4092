import FoundationEssentials
import HTTPCaching

/// The decision of the caching rules about the stored responses for a request. Only this type calls the rules' `decide`.
struct StoredDecision {
    /// The stored responses that may be served without waiting for the origin.
    enum Allowance: Equatable {
        /// The responses that the rules allow.
        case usable
        /// As `usable`, and stale responses within `stale-while-revalidate` (RFC 5861 section 3), which are then revalidated.
        case staleWhileRevalidating
        /// Fresh responses.
        case fresh
        /// All responses that are at most this many seconds stale; with `nil`, all. The origin is not asked.
        case storedOnly(maxStale: Int64?)
    }

    /// The rules' own decision: within the allowance if it serves a response.
    let decision: CacheDecision
    private let allowance: Allowance

    /// - Parameter stored: The responses stored under the key of the request. The decision refers to them by their index.
    init(
        _ request: CacheRequest, stored: [StoredResponse], allowing allowance: Allowance, by rules: CacheRules,
        at now: Date
    ) {
        self.allowance = allowance
        var request = request
        if case .storedOnly = allowance { request.policy = .returnCacheDataDontLoad }
        decision = rules.decide(request, stored: stored, now: now)
    }

    /// The response to serve; `nil` if none may be served without waiting for the origin.
    var served: ServedResponse? {
        switch (decision, allowance) {
        case (.serveAndRevalidate(let served, _), .staleWhileRevalidating): served
        case (.serve(let served), .fresh): served.isStale ? nil : served
        case (.serve(let served), .storedOnly(let maxStale?)):
            -Int64(served.remainingLifetime) <= maxStale ? served : nil
        case (.serve(let served), _): served
        default: nil
        }
    }

    /// True if the response to serve must be revalidated in the background.
    var needsRevalidation: Bool {
        if case .serveAndRevalidate = decision { served != nil } else { false }
    }

    /// The failure of a request that accepts only a stored response.
    var failure: CacheFailure? { if case .fail(let failure) = decision { failure } else { nil } }

    /// The request to the origin that the decision leads to, with the responses that the decision was made about.
    func conditionalRequest(about candidates: [StoredCandidate]) -> ConditionalRequest {
        switch decision {
        case .validate(let validation), .serveAndRevalidate(_, let validation):
            ConditionalRequest(validation, candidates)
        case .forward(let forward): ConditionalRequest(forward, candidates)
        case .serve, .fail: ConditionalRequest(CacheForward(reason: .miss), candidates)
        }
    }

    /// The handling of the request, as `Cache-Status` states it.
    var status: CacheStatus { decision.cacheStatus() }
}
