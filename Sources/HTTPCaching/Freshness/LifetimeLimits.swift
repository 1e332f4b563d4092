package import FoundationEssentials
import HTTPSemantics
package import HTTPTypes

/// The lifetimes that an operator sets for the responses of an origin. They change the fields of a response as if the origin had sent them so, for
/// caches and clients alike.
///
/// Responses that forbid storing or use without validation (`no-store`, `no-cache`, `private`) stay as they are, unless ``overridesPrivate`` is set.
/// So does a response with `Set-Cookie` or to a request with `Cookie`, unless ``longest`` cuts its explicit lifetime: it may be for one client, and
/// an explicit lifetime would let others have it. Error responses get no ``usual`` and no ``shortest`` lifetime, unless ``coversErrors`` is set.
///
/// A member of `Cache-Status` tells what was applied: `imgcache; detail=default-ttl`.
package struct LifetimeLimits: Sendable, Hashable {
    /// The lifetime of a response without an explicit one, instead of a heuristic one; `nil` for none.
    package var usual: Duration?
    /// The shortest lifetime; `nil` for no limit.
    package var shortest: Duration?
    /// The longest lifetime, explicit or heuristic; `nil` for no limit.
    package var longest: Duration?
    /// The time after the lifetime for which a response may be served while it is validated, or while the origin fails (RFC 5861), unless it says
    /// how long itself or forbids it; `nil` for none.
    package var stale: Duration?

    /// True to ignore `no-store`, `no-cache` and `private`, except in a response with `Set-Cookie` or to a request with `Cookie`.
    package var overridesPrivate = false
    /// True if the limits are for errors and redirects too.
    package var coversErrors = false

    package init() {}

    /// True if the limits change no response.
    package var isEmpty: Bool {
        usual == nil && shortest == nil && longest == nil && stale == nil && !overridesPrivate
    }

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
        if isEmpty { return fields }
        let isForOne = request.contains(.cookie) || fields.contains(.setCookie)
        var (fields, applied) = (fields, [String]())
        var facts = ResponseFacts(fields, receivedAt: receivedAt, rules: rules)
        let name = Self.fieldInForce(fields, facts, rules)
        if !facts.directives.flags.isDisjoint(with: Self.restrictions) {
            guard overridesPrivate, !isForOne, let open = Self.directives(of: fields, name)?.filter(Self.isOpen) else {
                return fields
            }
            fields[name] = open.isEmpty ? nil : open.joined(separator: ", ")
            facts = ResponseFacts(fields, receivedAt: receivedAt, rules: rules)
            applied.append("override-private")
        }
        // A 304 that says nothing leaves the lifetime of the stored response, which had its limits.
        if status == .notModified, !fields.contains(name), !fields.contains(.expires) { return fields }
        let (own, estimated) = lifetimes(facts, status, rules)
        var heuristic = estimated
        let mayGrow = (coversErrors || status.kind == .successful || status == .notModified) && !isForOne
        var (lifetime, origin) = (own, own.map { _ in "origin-ttl" })
        func limit(_ limit: Duration?, _ setting: LifetimeSetting, if isExceeded: (Int) -> Bool) {
            guard let seconds = limit.map({ Int($0.components.seconds) }), isExceeded(seconds) else { return }
            (lifetime, origin) = (seconds, setting.rawValue)
        }
        if mayGrow {
            limit(usual, .usual) { _ in lifetime == nil }
            if lifetime != nil { heuristic = nil }
            limit(shortest, .shortest) { $0 > lifetime ?? heuristic ?? 0 }
        }
        limit(longest, .longest) { $0 < lifetime ?? (isForOne ? nil : heuristic) ?? 0 }
        applied += [origin].compactMap(\.self)
        guard var directives = Self.directives(of: fields, name) else { return fields }
        var result = fields
        if let lifetime, lifetime != own {
            var written = lifetime
            result[.expires] = nil
            if lifetime > own ?? heuristic ?? -1 {
                // The age so far belonged to the former lifetime.
                result[.age] = nil
                if facts.lastModified == nil || ValidatorFields(fields, receivedAt: receivedAt).isLastModifiedStrong {
                    result[.date] = HTTPDate.format(receivedAt)
                } else {
                    // A later Date would make a strong validator of a Last-Modified that is none (RFC 9110 section 8.8.2.2). Caches add the
                    // time since Date to the age, so it is added to the lifetime.
                    written += Int(min(max(0, receivedAt.secondsSince1970 - facts.date), Double(Int32.max)))
                }
            }
            Self.set(written, facts, in: &directives)
        }
        if let stale, mayGrow {
            let count = directives.count
            Self.allowStale(Int(stale.components.seconds), facts, rules, in: &directives)
            if directives.count > count { applied.append(LifetimeSetting.stale.rawValue) }
        }
        result[name] = directives.isEmpty ? nil : directives.joined(separator: ", ")
        if !applied.isEmpty {
            result[.cacheStatus] = Self.note(applied.joined(separator: " ")).appended(to: fields[.cacheStatus])
        }
        return result
    }

    private static let restrictions: ResponseDirectives.Flags = [.noStore, .noCache, .private]

    private static func isOpen(_ directive: String) -> Bool {
        !["no-store", "no-cache", "private"].contains(directive.prefix { $0 != "=" && $0 != " " }.lowercased())
    }

    /// The member of `Cache-Status` that tells what was applied.
    private static func note(_ detail: String) -> CacheStatus { CacheStatus(cache: cacheName, detail: detail) }

    private static let cacheName = "imgcache"

    /// The member of `Cache-Status` in a response that tells what was applied to it; `nil` if nothing was.
    static func note(in fields: HTTPFields) -> String? {
        guard let value = fields[.cacheStatus], let last = value.split(separator: ",").last else { return nil }
        let member = last.drop { $0 == " " }
        return member.hasPrefix("\(cacheName); detail=") ? String(member) : nil
    }

    /// The field whose directives the cache obeys: `Cache-Control`, or a targeted one (RFC 9213).
    private static func fieldInForce(_ fields: HTTPFields, _ facts: ResponseFacts, _ rules: CacheRules)
        -> HTTPField.Name
    {
        guard facts.isTargeted else { return .cacheControl }
        let names = rules.targetedFieldNames.compactMap { HTTPField.Name($0) }
        return names.first { fields.contains($0) } ?? .cacheControl
    }

    /// The lifetime that the response gives, or else the one that the cache estimates.
    private func lifetimes(
        _ facts: ResponseFacts, _ status: HTTPResponse.Status, _ rules: CacheRules
    ) -> (own: Int?, estimated: Int?) {
        switch rules.lifetime(facts, status: status == .notModified ? .ok : status) {
        case (_, .nothing): (nil, nil)
        case (let lifetime, .heuristic): (nil, lifetime)
        case (let lifetime, _): (lifetime, nil)
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
