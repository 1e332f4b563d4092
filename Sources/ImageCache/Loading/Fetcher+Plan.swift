import DiskStore
import FoundationEssentials
import HTTPCaching

/// The next step, as the caching rules see it.
extension Fetcher {
    /// The next step after a look into the store.
    enum Plan {
        case serve(CachedFile)
        case ask(ConditionalRequest)
    }

    /// The stored file for a request, if it may be served as it is, without a request to the origin.
    func stored(_ request: FileRequest) throws(ImageCacheError) -> CachedFile? {
        let resolved = try ResolvedRequest(request, by: rules)
        let candidates = try candidates(for: resolved)
        let decision = rules.decide(resolved.cacheRequest, stored: candidates.map(\.record.response), now: now())
        guard case .serve(let served) = decision else { return nil }
        return try open(candidates[served.candidate], for: resolved, served, decision)
    }

    func plan(_ resolved: ResolvedRequest) throws(ImageCacheError) -> Plan {
        let plan = try ownPlan(resolved)
        if case .ask = plan, let file = try equalBody(resolved) { return .serve(file) }
        return plan
    }

    /// The next step by what is stored for this request.
    private func ownPlan(_ resolved: ResolvedRequest) throws(ImageCacheError) -> Plan {
        var candidates = try candidates(for: resolved)
        let count = candidates.count
        while true {
            let decision = rules.decide(resolved.cacheRequest, stored: candidates.map(\.record.response), now: now())
            switch decision {
            case .serve(let served):
                let candidate = candidates[served.candidate]
                if let file = try open(candidate, for: resolved, served, decision) { return .serve(file) }
                // The body was gone or damaged: a miss.
                candidates.remove(at: served.candidate)
            case .serveAndRevalidate(let served, let validation):
                guard revalidatesInBackground, !resolved.request.awaitsRevalidation else {
                    return .ask(explained(ConditionalRequest(validation, candidates), resolved, of: count))
                }
                let candidate = candidates[served.candidate]
                guard let file = try open(candidate, for: resolved, served, decision) else {
                    candidates.remove(at: served.candidate)
                    continue
                }
                revalidateInBackground(resolved)
                return .serve(file)
            case .validate(let validation):
                return .ask(explained(ConditionalRequest(validation, candidates), resolved, of: count))
            case .forward(let forward):
                return .ask(explained(ConditionalRequest(forward, candidates), resolved, of: count))
            case .fail:
                throw Self.notCached(resolved)
            }
        }
    }

    static func notCached(_ resolved: ResolvedRequest) -> ImageCacheError {
        ImageCacheError(.notCached, url: resolved.request.url, message: "not in the cache, and offline")
    }

    /// A file that somebody stored while we waited for them. Received after `began`, and not after now: what lies in the future
    /// was received before the clock was set back.
    ///
    /// - Parameters:
    ///   - known: the candidates that were there before, and are none unless somebody has confirmed them.
    ///   - status: how the cache came to ask the origin, had the other not done so.
    func storedSince(
        _ began: Date, besides known: [Candidate], _ resolved: ResolvedRequest, _ status: CacheStatus
    ) throws(ImageCacheError) -> CachedFile? {
        let now = now()
        let fresh = try candidates(for: resolved).filter { candidate in
            let received = candidate.record.response.responseTime
            return received >= began && !CacheRules.clockWentBack(since: received, now: now)
                && !known.contains {
                    $0.entry.id == candidate.entry.id && $0.entry.metadata == candidate.entry.metadata
                }
        }
        guard !fresh.isEmpty else { return nil }
        var request = resolved.cacheRequest
        request.policy = .returnCacheDataDontLoad
        let decision = rules.decide(request, stored: fresh.map(\.record.response), now: now)
        guard case .serve(let served) = decision else { return nil }
        var status = status
        status.collapsed = true
        status.stored = true
        status.timeToLive = served.remainingLifetime
        return try open(fresh[served.candidate], for: resolved, as: .disk, status)
    }
}
