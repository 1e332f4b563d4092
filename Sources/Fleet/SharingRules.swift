import DiskStore
import HTTPCaching
import HTTPTypes
import ImageCache

/// Decides what this machine shares with others, and what it takes from them.
struct SharingRules: Sendable {
    let rules: CacheRules
    /// True if responses of one user are shared under that user's keys.
    let sharesPrivateResponses: Bool

    /// True if images derived from a file may be shared with other machines.
    func mayShareImages(of file: CachedFile, _ resolved: ResolvedRequest) -> Bool {
        file.isStored && !file.isDeduplicated && isShareable(resolved) && isShareable(file.response, resolved)
    }

    /// True if the policy of a request allows the use or revalidation of a stored response.
    func mayUse(_ resolved: ResolvedRequest) -> Bool {
        let request = resolved.request
        guard isShareable(resolved), request.changedSince == nil, request.evictedOriginalID == nil else { return false }
        switch resolved.cacheRequest.policy {
        case .useProtocolCachePolicy, .returnCacheDataElseLoad, .reloadRevalidatingCacheData, .maxStale: return true
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData, .returnCacheDataDontLoad:
            return false
        }
    }

    /// True if the request allows sharing its response with other machines.
    func isShareable(_ resolved: ResolvedRequest) -> Bool {
        let request = resolved.request
        guard request.method == .get, request.body == nil, request.transport == nil else { return false }
        switch resolved.audience {
        case .everybody: return true
        case .owner: return sharesPrivateResponses
        case .unknown: return false
        }
    }

    /// True if the response may be used by all users in the key's namespace. In the shared namespace, a shared cache must be allowed to
    /// store it (RFC 9111 section 3).
    func isShareable(_ response: StoredResponse, _ resolved: ResolvedRequest) -> Bool {
        guard response.status == .ok, response.ownVersion == nil, rules.variantKey(of: response) != nil else {
            return false
        }
        if resolved.audience == .owner { return true }
        return !response.fields.contains(.setCookie) && isStorable(response, resolved, in: .shared)
    }

    /// True if a response from the remote store belongs to this URL, and this cache would have stored it.
    func isUsable(_ record: ResponseRecord, for resolved: ResolvedRequest) -> Bool {
        let response = record.response
        // The machine that stored the response may share more than this one.
        return isShareable(response, resolved) && record.url == resolved.url && response.requestMethod == .get
            && !response.isInvalidated && isStorable(response, resolved, in: rules.mode)
    }

    private func isStorable(_ response: StoredResponse, _ resolved: ResolvedRequest, in mode: CacheMode) -> Bool {
        var rules = rules
        rules.mode = mode
        return rules.storability(of: response, to: resolved.cacheRequest).isStorable
    }
}
