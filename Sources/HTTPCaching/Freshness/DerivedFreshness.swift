public import FoundationEssentials
import HTTPSemantics
import HTTPTypes

/// For how long something may be kept that was made of a stored response: a thumbnail of an image. It has no `Age` of its own,
/// so its `Cache-Control` says what is left of the original's life, and keeps what the origin said besides (RFC 9111 section
/// 5.2.2).
public struct DerivedFreshness: Sendable, Hashable {
    private let directives: ResponseDirectives
    private let mustValidate: Bool
    /// Until when the original is fresh for one user's cache, and for one of several (`s-maxage` and the like), in seconds
    /// since 1970.
    private let freshUntil: Double
    private let sharedFreshUntil: Double

    /// - Parameters:
    ///   - stored: The original's response.
    ///   - rules: This cache's.
    ///   - now: The time to reckon the original's age by.
    public init(of stored: StoredResponse, rules: CacheRules, at now: Date) {
        directives = ResponseDirectives(stored.fields)
        let shared = rules.freshness(of: stored, at: now)
        let own = rules.mode == .private ? shared : CacheRules(mode: .private).freshness(of: stored, at: now)
        mustValidate = own.mustValidate || shared.mustValidate
        freshUntil = now.secondsSince1970 + Double(own.remaining)
        sharedFreshUntil = now.secondsSince1970 + Double(shared.remaining)
    }

    /// The value of `Cache-Control` for an answer sent at `now`.
    /// - Parameters:
    ///   - now: The time at which the response is sent.
    ///   - limit: The time at which the lifetime ends in any case, in seconds since 1970: the expiry of a signed URL.
    public func cacheControl(at now: Date, notAfter limit: Int64? = nil) -> String {
        let flags = directives.flags
        if flags.contains(.noStore) { return flags.contains(.private) ? "private, no-store" : "no-store" }
        var text = flags.contains(.private) ? "private, " : flags.contains(.public) ? "public, " : ""
        let now = now.secondsSince1970
        func left(_ end: Double) -> Int {
            max(0, min(end, limit.map { Double($0) + 1 } ?? end) - now).wholeSeconds
        }
        let own = left(freshUntil)
        if mustValidate {
            text += "no-cache"
        } else {
            text += "max-age=\(own)"
            let shared = left(sharedFreshUntil)
            if shared != own, !flags.contains(.private) { text += ", s-maxage=\(shared)" }
        }
        if flags.contains(.mustRevalidate) { text += ", must-revalidate" }
        if flags.contains(.proxyRevalidate) { text += ", proxy-revalidate" }
        if flags.contains(.noTransform) { text += ", no-transform" }
        guard !mustValidate, limit == nil else { return text }
        if flags.contains(.immutable), own > 0 { text += ", immutable" }
        if let seconds = directives.staleWhileRevalidate.value { text += ", stale-while-revalidate=\(seconds)" }
        if let seconds = directives.staleIfError.value { text += ", stale-if-error=\(seconds)" }
        return text
    }
}
