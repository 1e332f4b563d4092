import FoundationEssentials
import HTTPTypes

extension CacheRules {
    /// Makes a response no fresher than a redirect that led to it. The response is stored under the originally requested URL, so it
    /// may be used without validation only while every redirect may be.
    func bound(_ freshness: inout Freshness, by hop: StoredHead, of stored: StoredResponse, at now: Date) {
        let facts = ResponseFacts(hop.fields, receivedAt: stored.responseTime, rules: self)
        if forbidsStale(facts.directives) { freshness.forbidsStale = true }
        if facts.directives.flags.contains(.noStore) || facts.directives.flags.contains(.noCache)
            || facts.variesOnAnything
        {
            freshness.mustValidate = true
            return
        }
        let (lifetime, source) = lifetime(facts, status: hop.status)
        if source == .nothing, hop.status.code == 301 || hop.status.code == 308 {
            // A permanent redirect without freshness information is valid as long as the response itself.
            return
        }
        if source == .nothing {
            freshness.mustValidate = true
            return
        }
        let remaining = lifetime - currentAge(facts, stored: stored, now: now)
        if remaining < freshness.remaining {
            freshness.lifetime = max(0, freshness.age + remaining)
            freshness.source = .redirect
        }
    }
}
