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
        let lookup = Lookup(resolved.cacheRequest, conditional.candidates, allowing: .storedOnly(maxStale: maxStale))
        return lookup.decision(by: rules, at: now()).served?.candidate
    }
}
