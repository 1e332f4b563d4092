package import FoundationEssentials
package import HTTPTypes

/// The lifetimes that an operator sets for the responses of an origin. They change the fields of a response as if the origin had sent them so, for
/// caches and clients alike.
///
/// Responses that forbid storing or use without validation (`no-store`, `no-cache`, `private`) stay as they are. So does, except for ``longest``, a
/// response with `Set-Cookie` or to a request with `Cookie`: it may be for one client, and an explicit lifetime would let others have it. Error
/// responses get no ``usual`` and no ``shortest`` lifetime.
package struct LifetimeLimits: Sendable, Hashable {
    /// The lifetime of a response that has none of its own, in place of a heuristic one; `nil` for none.
    package var usual: Duration?
    /// The shortest lifetime; `nil` for no limit.
    package var shortest: Duration?
    /// The longest explicit lifetime; `nil` for no limit.
    package var longest: Duration?
    /// The time after the lifetime for which a response may be served while it is validated, or while the origin fails (RFC 5861), unless it says
    /// how long itself or forbids it; `nil` for none.
    package var stale: Duration?

    package init() {}

    package var isEmpty: Bool { self == LifetimeLimits() }

    /// Returns the fields with the lifetime that the limits allow.
    ///
    /// - Parameters:
    ///   - fields: The fields of the response.
    ///   - status: Its status; for a 304, whose fields update a stored response, also 304.
    ///   - request: The fields of the request.
    ///   - rules: The rules of the cache that reads the response.
    package func applied(
        to fields: HTTPFields, status: HTTPResponse.Status, request: HTTPFields, receivedAt: Date, by rules: CacheRules
    ) -> HTTPFields {
        let facts = ResponseFacts(fields, receivedAt: receivedAt, rules: rules)
        let flags = facts.directives.flags
        guard flags.isDisjoint(with: [.noStore, .noCache, .private]) else { return fields }
        let own = explicitLifetime(facts, rules)
        let isSuccess = status.kind == .successful || status == .notModified
        let isForOne = request.contains(.cookie) || fields.contains(.setCookie)
        var lifetime = own
        if isSuccess, !isForOne {
            // A 304 without a lifetime leaves that of the stored response, which had its limits.
            lifetime = lifetime ?? (status == .notModified ? nil : usual.map { Int($0.components.seconds) })
            if let shortest, lifetime != nil || status != .notModified {
                lifetime = max(lifetime ?? 0, Int(shortest.components.seconds))
            }
        }
        if let longest, let known = lifetime { lifetime = min(known, Int(longest.components.seconds)) }
        var result = fields
        if let lifetime, lifetime != own { set(lifetime, facts, in: &result) }
        if let stale, isSuccess, !isForOne, status != .notModified || lifetime != nil {
            allowStale(Int(stale.components.seconds), facts, rules, in: &result)
        }
        return result
    }

    /// `nil` if the response gives none.
    private func explicitLifetime(_ facts: ResponseFacts, _ rules: CacheRules) -> Int? {
        switch rules.lifetime(facts, status: .ok) {
        case (_, .heuristic), (_, .nothing): nil
        case (let lifetime, _): lifetime
        }
    }

    /// Replaces the lifetime. The age so far belonged to the former one.
    private func set(_ lifetime: Int, _ facts: ResponseFacts, in fields: inout HTTPFields) {
        let others = directives(of: fields).filter { directive in
            let name = directive.prefix { $0 != "=" }.lowercased()
            return name != "max-age" && name != "s-maxage"
        }
        // s-maxage also forbids that it is served stale (RFC 9111 section 5.2.2.10).
        let isShared = facts.directives.sharedMaxAge != .absent && !facts.directives.flags.contains(.proxyRevalidate)
        fields[.cacheControl] = (others + ["max-age=\(lifetime)"] + (isShared ? ["proxy-revalidate"] : []))
            .joined(separator: ", ")
        fields[.expires] = nil
        fields[.age] = nil
    }

    private func allowStale(_ seconds: Int, _ facts: ResponseFacts, _ rules: CacheRules, in fields: inout HTTPFields) {
        guard !rules.forbidsStale(facts.directives), !facts.directives.flags.contains(.proxyRevalidate) else { return }
        var added: [String] = []
        if facts.directives.staleWhileRevalidate == .absent { added.append("stale-while-revalidate=\(seconds)") }
        if facts.directives.staleIfError == .absent { added.append("stale-if-error=\(seconds)") }
        if added.isEmpty { return }
        fields[.cacheControl] = (directives(of: fields) + added).joined(separator: ", ")
    }

    /// The directives as they are written. A comma within quotation marks separates none.
    private func directives(of fields: HTTPFields) -> [String] {
        var directives: [String] = []
        for field in fields where field.name.canonicalName == "cache-control" {
            var (isQuoted, text) = (false, "")
            for character in field.value + "," {
                if character == "\"" { isQuoted.toggle() }
                if character == ",", !isQuoted {
                    text = String(text.drop { $0 == " " })
                    while text.last == " " { text.removeLast() }
                    if !text.isEmpty { directives.append(text) }
                    text = ""
                } else {
                    text.append(character)
                }
            }
            if !text.isEmpty { directives.append(text) }
        }
        return directives
    }
}
