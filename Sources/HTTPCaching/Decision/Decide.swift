public import FoundationEssentials
import HTTPSemantics
import HTTPTypes

extension CacheRules {
    /// Decides how to handle `request`, given the responses stored under its key (RFC 9111 section 4).
    ///
    /// Deterministic: equal values give equal decisions. `stored` may be empty, and may contain several variants and
    /// partial responses; the decision refers to candidates by their index.
    /// - Parameters:
    ///   - request: The request.
    ///   - stored: The responses stored under its key.
    ///   - now: The time at which ages are calculated.
    public func decide(_ request: CacheRequest, stored: [StoredResponse], now: Date) -> CacheDecision {
        let directives = RequestDirectives(request.fields)
        let decision: CacheDecision
        if request.policy == .reloadIgnoringLocalCacheData {
            decision = forward(.bypass)
        } else if request.policy == .reloadIgnoringLocalAndRemoteCacheData {
            decision = forward(.bypass, fields: [.cacheControl: "no-cache"])
        } else if !request.isAnsweredFromStore {
            decision = forward(.method)
        } else {
            switch select(request, stored: stored, now: now) {
            case .found(let chosen): decision = decide(request, directives, chosen, stored: stored, now: now)
            case .nothing(let reason): decision = forward(reason)
            }
        }
        return withoutOrigin(decision, request.policy, directives) ?? decision
    }

    /// The failure that replaces a request to the origin if none is allowed.
    private func withoutOrigin(
        _ decision: CacheDecision, _ policy: CachePolicy, _ directives: RequestDirectives
    ) -> CacheDecision? {
        let missing: ForwardReason
        switch decision {
        case .validate(let validation): missing = validation.reason
        case .forward(let forward): missing = forward.reason
        default: return nil
        }
        if policy == .returnCacheDataDontLoad { return .fail(CacheFailure(reason: .policy, missing: missing)) }
        if directives.onlyIfCached { return .fail(CacheFailure(reason: .onlyIfCached, missing: missing)) }
        return nil
    }

    private func forward(_ reason: ForwardReason, fields: HTTPFields = HTTPFields()) -> CacheDecision {
        .forward(CacheForward(reason: reason, fields: fields))
    }

    private func decide(
        _ request: CacheRequest, _ directives: RequestDirectives, _ chosen: Selected, stored: [StoredResponse],
        now: Date
    ) -> CacheDecision {
        let response = stored[chosen.index]
        let use = use(of: chosen, response, request, directives)
        guard case .response(let status, let body) = evaluate(response, facts: chosen.facts, for: request) else {
            return .forward(
                CacheForward(
                    reason: .partial, completingValidator: completingValidator(response, for: request)))
        }
        let served = ServedResponse(
            candidate: chosen.index, status: status, body: body, age: chosen.freshness.age,
            remainingLifetime: chosen.freshness.remaining, staleness: use.staleness,
            withheldFields: chosen.freshness.source == .freshnessOverride ? [] : chosen.facts.directives.noCacheFields)
        switch use {
        case .fresh, .stale: return .serve(served)
        case .staleWhileRevalidating:
            return .serveAndRevalidate(
                served, validation(.stale, of: chosen, request, directives, stored: stored, now: now))
        case .validate(let reason):
            let validation = validation(reason, of: chosen, request, directives, stored: stored, now: now)
            if validation.fields[.ifNoneMatch] == nil && validation.fields[.ifModifiedSince] == nil {
                return .forward(
                    CacheForward(
                        reason: reason, fields: validation.fields,
                        staleCandidate: validation.mayServeStaleOnError ? chosen.index : nil))
            }
            return .validate(validation)
        }
    }

    private enum Use {
        case fresh
        case stale(StaleReason)
        case staleWhileRevalidating
        case validate(ForwardReason)

        var staleness: StaleReason? {
            switch self {
            case .stale(let reason): reason
            case .staleWhileRevalidating: .whileRevalidating
            case .fresh, .validate: nil
            }
        }
    }

    /// Decides if the selected response may be used without validation: the last condition of RFC 9111 section 4.
    private func use(
        of chosen: Selected, _ response: StoredResponse, _ request: CacheRequest, _ directives: RequestDirectives
    ) -> Use {
        let freshness = chosen.freshness
        switch request.policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad:
            return freshness.isFresh ? .fresh : .stale(.policy)
        case .reloadRevalidatingCacheData:
            if !freshness.isFresh { return .validate(.stale) }
            return isImmutable(chosen.facts, response) ? .fresh : .validate(.request)
        default: break
        }
        if freshness.mustValidate { return .validate(.stale) }
        if isRefused(freshness, by: directives) {
            if freshness.isFresh, isReload(directives), isImmutable(chosen.facts, response) { return .fresh }
            return .validate(freshness.isFresh ? .request : .stale)
        }
        if freshness.isFresh { return .fresh }
        if freshness.forbidsStale { return .validate(.stale) }
        let staleness = freshness.age - freshness.lifetime
        if CacheRules.accepts(staleness, directives, request.policy) { return .stale(.maxStale) }
        if let window = chosen.facts.directives.staleWhileRevalidate.value, staleness <= window,
            freshness.source != .freshnessOverride
        {
            return .staleWhileRevalidating
        }
        return .validate(.stale)
    }

    /// Returns true if the request requires a fresher response: `no-cache`, `max-age`, `min-fresh` (RFC 9111 section
    /// 5.2.1). An invalid number counts as the strictest.
    func isRefused(_ freshness: Freshness, by directives: RequestDirectives) -> Bool {
        if directives.noCache { return true }
        switch directives.maxAge {
        case .seconds(let seconds): if freshness.age > seconds { return true }
        case .invalid: return true
        case .absent: break
        }
        switch directives.minFresh {
        case .seconds(let seconds): return freshness.remaining < seconds
        case .invalid: return true
        case .absent: return false
        }
    }

    private static func accepts(_ staleness: Int, _ directives: RequestDirectives, _ policy: CachePolicy) -> Bool {
        switch directives.maxStale {
        case .any: return true
        case .seconds(let seconds): if staleness <= seconds { return true }
        case .none: break
        }
        guard case .maxStale(let seconds) = policy else { return false }
        return seconds.map { staleness <= $0 } ?? true
    }

    /// Returns true for a browser's reload: `max-age=0`, without the `no-cache` of a forced one. A shared cache obeys
    /// it literally, because `immutable` addresses clients (RFC 8246 section 2).
    private func isReload(_ directives: RequestDirectives) -> Bool {
        mode == .private && !directives.noCache && directives.maxAge == .seconds(0) && directives.minFresh == .absent
    }

    /// RFC 8246: a fresh response is not validated, even on a reload (section 2); but only if it was received over an
    /// authenticated connection and its length is known to be right (section 3).
    func isImmutable(_ facts: ResponseFacts, _ response: StoredResponse) -> Bool {
        guard facts.directives.flags.contains(.immutable), case .complete(let length) = response.extent,
            let promised = ContentLength.value(of: response.fields)
        else { return false }
        return length ?? promised == promised
            && response.requestURL.utf8.prefix(8).elementsEqual("https://".utf8) { $0.lowercased == $1 }
    }
}
