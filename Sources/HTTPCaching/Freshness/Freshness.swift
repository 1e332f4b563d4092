public import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

/// The freshness of a response: its lifetime, its age, and their source (RFC 9111 section 4.2).
public struct Freshness: Sendable, Hashable {
    /// The source of a freshness lifetime.
    public enum Source: Sendable, Hashable {
        /// The application (``FreshnessOverride``).
        case freshnessOverride
        /// `s-maxage`, in a shared cache.
        case sharedMaxAge
        /// `max-age`.
        case maxAge
        /// `Expires`.
        case expires
        /// A tenth of the time since `Last-Modified`, at most a day.
        case heuristic
        /// Explicit information that is invalid or contradicts itself: stale.
        case invalid
        /// No information: stale.
        case nothing
        /// A redirect on the way, which is fresh for a shorter time than the response itself.
        case redirect
    }

    /// The freshness lifetime in seconds, from the time at which the origin generated the response; never negative.
    public var lifetime: Int
    /// The source of the lifetime.
    public var source: Source
    /// The age in seconds (RFC 9111 section 4.2.3); never negative.
    public var age: Int
    /// True if it must be validated before each use, fresh or not: `no-cache`, invalidated, a clock that was set back,
    /// or a redirect that may lead elsewhere next time.
    public var mustValidate: Bool
    /// True if it must never be served stale: `must-revalidate`, `no-cache`, and in a shared cache `proxy-revalidate`
    /// and `s-maxage` (RFC 9111 section 4.2.4).
    public var forbidsStale: Bool

    /// The remaining freshness lifetime in seconds; negative if stale.
    public var remaining: Int { lifetime - age }
    /// True if it may be served directly: "freshness_lifetime > current_age", and validation is not required.
    public var isFresh: Bool { lifetime > age && !mustValidate }
}

extension CacheRules {
    /// Calculates the freshness of a stored response at `now`.
    /// - Parameters:
    ///   - stored: The stored response.
    ///   - now: The time to reckon its age by.
    ///   - freshnessOverride: A lifetime of the application's own, in place of the server's.
    public func freshness(of stored: StoredResponse, at now: Date, freshnessOverride: FreshnessOverride? = nil)
        -> Freshness
    {
        freshness(
            of: stored, facts: ResponseFacts(stored.fields, receivedAt: stored.responseTime, rules: self), at: now,
            freshnessOverride: freshnessOverride)
    }

    func freshness(of stored: StoredResponse, facts: ResponseFacts, at now: Date, freshnessOverride: FreshnessOverride?)
        -> Freshness
    {
        let resident = now.secondsSince1970 - stored.responseTime.secondsSince1970
        let age = currentAge(facts, stored: stored, now: now)
        if let freshnessOverride, freshnessOverride.applies(to: stored.status) {
            return Freshness(
                lifetime: max(0, freshnessOverride.seconds), source: .freshnessOverride,
                age: max(0, resident).wholeSeconds,
                mustValidate: stored.isInvalidated, forbidsStale: stored.isInvalidated)
        }
        let (lifetime, source) = lifetime(facts, status: stored.status)
        var freshness = Freshness(
            lifetime: lifetime, source: source, age: age,
            mustValidate: stored.isInvalidated || facts.directives.flags.contains(.noCache)
                || CacheRules.clockWentBack(since: stored.responseTime, now: now),
            forbidsStale: stored.isInvalidated || forbidsStale(facts.directives))
        for hop in stored.redirects { bound(&freshness, by: hop, of: stored, at: now) }
        return freshness
    }

    /// Calculates the lifetime by RFC 9111 section 4.2.1, or without an explicit one by 4.2.2.
    func lifetime(_ facts: ResponseFacts, status: HTTPResponse.Status) -> (Int, Freshness.Source) {
        let directives = facts.directives
        if mode == .shared {
            switch directives.sharedMaxAge {
            case .seconds(let seconds): return (seconds, .sharedMaxAge)
            case .invalid: return (0, .invalid)
            case .absent: break
            }
        }
        switch directives.maxAge {
        case .seconds(let seconds): return (seconds, .maxAge)
        case .invalid: return (0, .invalid)
        case .absent: break
        }
        switch facts.expires {
        case .at(let date): return (max(0, date - facts.date).wholeSeconds, .expires)
        case .invalid: return (0, .invalid)
        case .absent: break
        }
        guard usesHeuristics, status.isHeuristicallyCacheable || directives.flags.contains(.public),
            let modified = facts.lastModified, modified < facts.date
        else { return (0, .nothing) }
        let tenth = ((facts.date - modified) / 10).wholeSeconds
        return (min(tenth, CacheRules.greatestHeuristicLifetime), .heuristic)
    }

    /// A day, in seconds.
    static var greatestHeuristicLifetime: Int { 86_400 }

    /// RFC 9111 section 4.2.3, with its names.
    func currentAge(_ facts: ResponseFacts, stored: StoredResponse, now: Date) -> Int {
        let responseTime = stored.responseTime.secondsSince1970
        let apparentAge = max(0, responseTime - facts.date)
        let responseDelay = max(0, responseTime - stored.requestTime.secondsSince1970)
        let correctedAge = Double(facts.age) + responseDelay
        let correctedInitialAge = max(apparentAge, correctedAge)
        let residentTime = max(0, now.secondsSince1970 - responseTime)
        return (correctedInitialAge + residentTime).wholeSeconds
    }

    /// Returns true if the clock was set back since: an age or an order calculated from it would be meaningless. One
    /// second is tolerated, the resolution of HTTP's dates.
    public static func clockWentBack(since responseTime: Date, now: Date) -> Bool {
        now.secondsSince1970 - responseTime.secondsSince1970 < -1
    }

    /// Returns true if a copy in memory is still fresh: its time is not over, and the clock was not set back since the response.
    package static func isFresh(until end: Date, since responseTime: Date, now: Date) -> Bool {
        end > now && !clockWentBack(since: responseTime, now: now)
    }

    func forbidsStale(_ directives: ResponseDirectives) -> Bool {
        if directives.flags.contains(.mustRevalidate) || directives.flags.contains(.noCache) { return true }
        guard mode == .shared else { return false }
        // s-maxage incorporates the semantics of proxy-revalidate: RFC 9111 section 5.2.2.10.
        return directives.flags.contains(.proxyRevalidate) || directives.sharedMaxAge != .absent
    }
}

extension FreshnessOverride {
    /// Successful responses only: an own lifetime must not pin an error.
    func applies(to status: HTTPResponse.Status) -> Bool {
        (200...299).contains(status.code)
    }
}

extension HTTPResponse.Status {
    /// True if a cache may use a heuristic for this status without further information (RFC 9110 section 15.1).
    public var isHeuristicallyCacheable: Bool {
        switch code {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }
}
