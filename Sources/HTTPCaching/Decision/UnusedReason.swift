public import FoundationEssentials
import HTTPTypes

/// The reason why nothing stored was used for a request, and the origin was asked.
public enum UnusedReason: String, Sendable, Hashable, CaseIterable {
    /// Nothing is stored that the request could be answered with.
    case missing
    /// It is not fresh, or must be confirmed before each use (RFC 9111 section 4.2).
    case stale
    /// It was stored for another version: the application's, the value's or the lifetime's.
    case version
    /// Its date is in the future, because the clock was set back. Its age is unknown.
    case clock
    /// It belongs to another owner.
    case owner
    /// Its body is gone or not what was stored, or cannot be decoded.
    case damaged
}

extension CacheRules {
    /// Why none of the stored responses is used as it is; `nil` when one of them is, or when the request itself wants the origin asked.
    public func unusedReason(_ request: CacheRequest, stored: [StoredResponse], now: Date) -> UnusedReason? {
        let policies: [CachePolicy] = [.reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData]
        if policies.contains(request.policy) { return nil }
        let matching = stored.filter { CacheRules.methodMatches($0, request) && isSelected($0, by: request.fields) }
        if matching.isEmpty { return .missing }
        let ofVersion = matching.filter { hasVersion($0, of: request) }
        if ofVersion.isEmpty { return .version }
        let ofNow = ofVersion.filter { !CacheRules.clockWentBack(since: $0.responseTime, now: now) }
        if ofNow.isEmpty { return .clock }
        let isAnyFresh = ofNow.contains {
            freshness(of: $0, at: now, freshnessOverride: request.freshnessOverride).isFresh
        }
        return isAnyFresh ? nil : .stale
    }

    /// Returns true if a response was stored for the version that the request is for.
    func hasVersion(_ response: StoredResponse, of request: CacheRequest) -> Bool {
        if let own = request.freshnessOverride, own.applies(to: response.status), response.ownVersion != own.version {
            return false
        }
        return request.version == nil || request.version == response.ownVersion
    }
}
