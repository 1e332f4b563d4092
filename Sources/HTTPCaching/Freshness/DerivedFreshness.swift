public import FoundationEssentials
import HTTPSemantics
import HTTPTypes

/// The freshness of content that is derived from a stored response, such as a thumbnail of an image. The derived response has no `Age`, so
/// its `Cache-Control` contains the remaining lifetime of the original, and preserves the origin's other directives (RFC 9111 section
/// 5.2.2).
public struct DerivedFreshness: Sendable, Hashable {
    private let directives: ResponseDirectives
    private let mustValidate: Bool
    /// The times until which the original is fresh for a private and for a shared cache (`s-maxage` and the like), in
    /// seconds since 1970.
    private let freshUntil: Double
    private let sharedFreshUntil: Double
    /// The member of `Cache-Status` that tells what lifetime an operator gave the original; `nil` if none did.
    package let lifetimeNote: String?

    /// - Parameters:
    ///   - stored: The original's response.
    ///   - rules: The rules of this cache.
    ///   - now: The time at which the original's age is calculated.
    public init(of stored: StoredResponse, rules: CacheRules, at now: Date) {
        var directives = ResponseDirectives(stored.fields)
        // A redirect for one user leads to a response for that user.
        if stored.redirects.contains(where: { ResponseDirectives($0.fields).flags.contains(.private) }) {
            directives.flags.insert(.private)
        }
        self.directives = directives
        let shared = rules.freshness(of: stored, at: now)
        let own = rules.mode == .private ? shared : CacheRules(mode: .private).freshness(of: stored, at: now)
        mustValidate = own.mustValidate || shared.mustValidate
        freshUntil = now.secondsSince1970 + Double(own.remaining)
        sharedFreshUntil = now.secondsSince1970 + Double(shared.remaining)
        lifetimeNote = LifetimeLimits.note(in: stored.fields)
    }

    /// Lifetimes to send to clients instead of the original's.
    package struct SentLifetimes: Sendable, Hashable {
        /// In seconds; `nil`: the remaining lifetime of the original.
        package var maxAge: Int?
        /// In seconds (RFC 5861); `nil`: as the original says.
        package var staleWhileRevalidate: Int?

        package init() {}
    }

    /// The time in seconds until a lifetime in ``cacheControl(at:notAfter:)`` is another one.
    package func timeToNextChange(after now: Date) -> Double {
        [freshUntil, sharedFreshUntil].map { end in
            let left = end - now.secondsSince1970
            return left > 0 ? left - left.rounded(.down) : .infinity
        }.min() ?? 0
    }

    /// The value of `Cache-Control` for a response.
    ///
    /// - Parameters:
    ///   - now: The time at which the response is sent.
    ///   - limit: The latest expiry in seconds since 1970, such as a signed URL's.
    public func cacheControl(at now: Date, notAfter limit: Int64? = nil) -> String {
        cacheControl(at: now, notAfter: limit, sending: SentLifetimes())
    }

    /// The value of `Cache-Control` for a response, with an operator's own lifetimes; an original with `no-store`, `no-cache` or `private` has none.
    package func cacheControl(at now: Date, notAfter limit: Int64?, sending lifetimes: SentLifetimes) -> String {
        let flags = directives.flags
        let lifetimes = mustValidate || flags.contains(.private) ? SentLifetimes() : lifetimes
        if flags.contains(.noStore) { return flags.contains(.private) ? "private, no-store" : "no-store" }
        var text = flags.contains(.private) ? "private, " : flags.contains(.public) ? "public, " : ""
        let now = now.secondsSince1970
        func left(_ end: Double) -> Int {
            max(0, min(end, limit.map { Double($0) + 1 } ?? end) - now).wholeSeconds
        }
        let own = left(lifetimes.maxAge.map { now + Double($0) } ?? freshUntil)
        if mustValidate {
            text += "no-cache"
        } else {
            text += "max-age=\(own)"
            let shared = lifetimes.maxAge == nil ? left(sharedFreshUntil) : own
            if shared != own, !flags.contains(.private) { text += ", s-maxage=\(shared)" }
        }
        if flags.contains(.mustRevalidate) { text += ", must-revalidate" }
        if flags.contains(.proxyRevalidate) { text += ", proxy-revalidate" }
        if flags.contains(.noTransform) { text += ", no-transform" }
        guard !mustValidate, limit == nil else { return text }
        if flags.contains(.immutable), own > 0 { text += ", immutable" }
        if let seconds = lifetimes.staleWhileRevalidate ?? directives.staleWhileRevalidate.value {
            text += ", stale-while-revalidate=\(seconds)"
        }
        if let seconds = directives.staleIfError.value { text += ", stale-if-error=\(seconds)" }
        return text
    }
}
