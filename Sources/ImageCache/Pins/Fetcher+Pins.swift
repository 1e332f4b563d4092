import DiskStore
import HTTPCaching
import Transfer

/// Pinned files are served when their origin cannot be reached, as their set allows.
extension Fetcher {
    /// The stored response that stands in for an origin that did not answer, because it is pinned; `nil`: there is none.
    func pinnedFallback(_ conditional: ConditionalRequest, _ resolved: ResolvedRequest) -> Int? {
        guard !conditional.candidates.isEmpty, let maxStale = (try? store.pinnedMaxStale(resolved.key)) ?? nil else {
            return nil
        }
        var request = resolved.cacheRequest
        request.policy = .returnCacheDataDontLoad
        let decision = rules.decide(request, stored: conditional.candidates.map(\.record.response), now: now())
        guard case .serve(let served) = decision, -served.remainingLifetime <= maxStale else { return nil }
        return served.candidate
    }
}
