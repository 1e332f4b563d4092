public import FoundationEssentials
import HTTPSemantics

extension CacheRules {
    /// When a stored response is of no use any more: it is stale then, and has no validator by which the origin could confirm it
    /// (RFC 9111 section 4.3.1). `nil`: it can be confirmed.
    public func uselessDate(of stored: StoredResponse, freshnessOverride: FreshnessOverride? = nil) -> Date? {
        guard conditionalFields(for: stored).isEmpty else { return nil }
        let freshness = freshness(of: stored, at: stored.responseTime, freshnessOverride: freshnessOverride)
        return stored.responseTime + Double(freshness.mustValidate ? 0 : max(0, freshness.remaining))
    }
}
