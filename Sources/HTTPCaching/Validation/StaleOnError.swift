public import FoundationEssentials
public import HTTPTypes

/// The way in which an origin failed to respond.
public enum OriginFailure: Sendable, Hashable {
    /// It could not be reached, or closed the connection.
    case unreachable
    /// It responded with this error status.
    case status(HTTPResponse.Status)
}

extension CacheRules {
    /// Returns true if a stored response may be served although the origin did not validate it.
    ///
    /// `stale-if-error` of the response or of the request limits the time (RFC 5861 section 4). Without it, an unreachable origin is
    /// sufficient (RFC 9111 section 4.2.4); an error status is sufficient only with ``treatsServerErrorAsUnreachable``. Returns false if
    /// `must-revalidate`, `no-cache`, or in a shared cache `proxy-revalidate` or `s-maxage` forbid it, or if the request requires a fresher
    /// response. The statuses 500, 502, 503 and 504 count as failures.
    public func mayServeStale(
        _ stored: StoredResponse, after failure: OriginFailure, for request: CacheRequest, now: Date
    ) -> Bool {
        guard isCandidate(stored, request, now: now) else { return false }
        let facts = ResponseFacts(stored.fields, receivedAt: stored.responseTime, rules: self)
        let freshness = freshness(of: stored, facts: facts, at: now, freshnessOverride: request.freshnessOverride)
        return mayServeStale(
            stored, facts: facts, freshness: freshness, after: failure, request, RequestDirectives(request.fields))
    }

    func mayServeStale(
        _ stored: StoredResponse, facts: ResponseFacts, freshness: Freshness, after failure: OriginFailure,
        _ request: CacheRequest, _ directives: RequestDirectives
    ) -> Bool {
        if case .status(let status) = failure, ![500, 502, 503, 504].contains(status.code) { return false }
        switch request.policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData:
            return false
        default: break
        }
        if freshness.forbidsStale || directives.noCache { return false }
        let staleness = max(0, freshness.age - freshness.lifetime)
        if let window = directives.staleIfError.value, staleness <= window { return true }
        if isRefused(freshness, by: directives), directives.maxAge != .absent { return false }
        if freshness.source != .freshnessOverride, let window = facts.directives.staleIfError.value {
            return staleness <= window
        }
        if directives.staleIfError != .absent { return false }
        return failure == .unreachable || treatsServerErrorAsUnreachable
    }
}
