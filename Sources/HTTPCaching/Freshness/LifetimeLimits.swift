package import FoundationEssentials
import HTTPSemantics
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
        // A 304 that says nothing leaves the lifetime of the stored response, which had its limits.
        let name = Self.fieldInForce(fields, facts, rules)
        if status == .notModified, !fields.contains(name), !fields.contains(.expires) { return fields }
        let own = explicitLifetime(facts, rules)
        let isSuccess = status.kind == .successful || status == .notModified
        let isForOne = request.contains(.cookie) || fields.contains(.setCookie)
        var lifetime = own
        if isSuccess, !isForOne {
            lifetime = lifetime ?? usual.map { Int($0.components.seconds) }
            if let shortest { lifetime = max(lifetime ?? 0, Int(shortest.components.seconds)) }
        }
        if let longest, let known = lifetime { lifetime = min(known, Int(longest.components.seconds)) }
        guard var directives = Self.directives(of: fields, name) else { return fields }
        var result = fields
        if let lifetime, lifetime != own {
            Self.set(lifetime, facts, in: &directives)
            result[.expires] = nil
            if lifetime > own ?? -1 {
                // The age so far belonged to the former lifetime.
                result[.age] = nil
                result[.date] = HTTPDate.format(receivedAt)
            }
        }
        if let stale, isSuccess, !isForOne {
            Self.allowStale(Int(stale.components.seconds), facts, rules, in: &directives)
        }
        result[name] = directives.isEmpty ? nil : directives.joined(separator: ", ")
        return result
    }

    /// The field whose directives the cache obeys: `Cache-Control`, or a targeted one (RFC 9213).
    private static func fieldInForce(_ fields: HTTPFields, _ facts: ResponseFacts, _ rules: CacheRules)
        -> HTTPField.Name
    {
        guard facts.isTargeted else { return .cacheControl }
        let names = rules.targetedFieldNames.compactMap { HTTPField.Name($0) }
        return names.first { fields.contains($0) } ?? .cacheControl
    }

    /// `nil` if the response gives none.
    private func explicitLifetime(_ facts: ResponseFacts, _ rules: CacheRules) -> Int? {
        switch rules.lifetime(facts, status: .ok) {
        case (_, .heuristic), (_, .nothing): nil
        case (let lifetime, _): lifetime
        }
    }

    private static func set(_ lifetime: Int, _ facts: ResponseFacts, in directives: inout [String]) {
        directives.removeAll { directive in
            let name = directive.prefix { $0 != "=" }.lowercased()
            return name == "max-age" || name == "s-maxage"
        }
        directives.append("max-age=\(lifetime)")
        // s-maxage also forbids that it is served stale (RFC 9111 section 5.2.2.10).
        if facts.directives.sharedMaxAge != .absent, !facts.directives.flags.contains(.proxyRevalidate) {
            directives.append("proxy-revalidate")
        }
    }

    private static func allowStale(
        _ seconds: Int, _ facts: ResponseFacts, _ rules: CacheRules, in directives: inout [String]
    ) {
        guard !rules.forbidsStale(facts.directives), !facts.directives.flags.contains(.proxyRevalidate) else { return }
        if facts.directives.staleWhileRevalidate == .absent { directives.append("stale-while-revalidate=\(seconds)") }
        if facts.directives.staleIfError == .absent { directives.append("stale-if-error=\(seconds)") }
    }

    /// The directives as they are written.
    ///
    /// - Returns: `nil` if a quotation mark has no end: other readers would not find an added directive.
    private static func directives(of fields: HTTPFields, _ name: HTTPField.Name) -> [String]? {
        var directives: [String] = []
        for field in fields where field.name == name {
            field.withUnsafeBytesOfValue { bytes in
                forEachListMember(bytes) { directives.append(String(decoding: $0, as: UTF8.self)) }
            }
        }
        return directives.contains { $0.count { $0 == "\"" } % 2 == 1 } ? nil : directives
    }
}
