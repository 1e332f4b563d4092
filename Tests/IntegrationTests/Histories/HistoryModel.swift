import Foundation
import ImageCache

/// A request of a history.
struct HistoryRequest: Sendable, CustomStringConvertible {
    var path: String
    var language: String?
    var cookie: String?
    var authorization: String?
    var isOdd = false
    /// `no-cache`, `max-age=0`, `only-if-cached`
    var cacheControl: String?
    var policy = CachePolicy.useProtocolCachePolicy
    var range: Range<Int>?

    static func scope(authorization: String?) -> String? { authorization }

    var scope: String? { Self.scope(authorization: authorization) }

    func variant(by field: String?) -> String {
        switch field {
        case nil: "-"
        case "Accept-Language": language ?? "none"
        case "Cookie": cookie ?? "none"
        default: "?"
        }
    }

    func fileRequest(_ url: String) -> FileRequest {
        var request = FileRequest(url)
        request.fields[.acceptLanguage] = language
        request.fields[.cookie] = cookie
        request.fields[.authorization] = authorization
        request.fields[.cacheControl] = cacheControl
        if isOdd, let name = HTTPField.Name("X-Odd") { request.fields[name] = "1" }
        request.fields[.range] = range.map { "bytes=\($0.lowerBound)-\($0.upperBound - 1)" }
        request.policy = policy
        request.transfer.userAgent = ""
        request.transfer.retry.maxRetries = 1
        request.transfer.retry.baseDelay = .milliseconds(1)
        return request
    }

    var description: String {
        "\(path) language \(language ?? "-") cookie \(cookie ?? "-") auth \(authorization ?? "-")"
            + (isOdd ? " odd" : "") + " cache-control \(cacheControl ?? "-") policy \(policy)"
            + (range.map { " range \($0)" } ?? "")
    }
}

/// The responses that may be served: derived from all of the origin's responses in the simplest way, without using the
/// store.
struct HistoryModel {
    var isShared: Bool
    /// The removals, with the origin's number of responses at that time. A `nil` scope concerns all users.
    private var removals: [(path: String, scope: String?, after: Int)] = []

    init(isShared: Bool) { self.isShared = isShared }

    mutating func removed(_ path: String, scope: String?, after count: Int) {
        removals.append((path, scope, after: count))
    }

    /// The reason why the bytes must not be served; nil if they may.
    ///
    /// - Parameters:
    ///   - start: how much the origin had sent when the request was made.
    ///   - joined: how much it had sent when a request under way was made that this one shares.
    ///   - stored: how much of what it sent before must have found its way into the store.
    ///   - hasFailed: whether the origin failed since.
    func objection(
        to body: [UInt8], status: Int, for request: HistoryRequest, _ emissions: [Emission], since start: Int,
        joined: Int, stored: Int, hasFailed: Bool, now: Date
    ) -> String? {
        let served = Data(body)
        let isOfThese = { (identity: Emission.Identity) -> Bool in
            if status == 206 {
                guard let range = request.range?.clamped(to: 0..<identity.size) else { return false }
                return range.count == body.count && identity.body.subdata(in: range) == served
            }
            return identity.status == status && identity.size == body.count && identity.body == served
        }
        let matching = emissions.indices.filter { index in
            emissions[index].identity.path == request.path && isOfThese(emissions[index].identity)
        }
        guard !matching.isEmpty else { return "bytes that the origin never sent for \(request.path)" }
        let reasons = Set(
            matching.map { index -> String? in
                let emission = emissions[index]
                guard emission.identity.variant == request.variant(by: emission.resource.vary) else {
                    return "the variant \(emission.identity.variant)"
                }
                guard isVisible(emission, to: request) else { return "what was sent for \(emission.scope ?? "nobody")" }
                if index >= start { return request.cacheControl == "only-if-cached" ? "the origin was asked" : nil }
                // A response removed meanwhile must not be shared.
                if index >= joined, !removals.contains(where: { $0.path == request.path && $0.after > index }) {
                    return nil
                }
                return objectionToStored(
                    emission, index, for: request, status, emissions[..<stored], hasFailed: hasFailed, now: now)
            })
        return reasons.contains(nil) ? nil : reasons.compactMap { $0 }.sorted().joined(separator: "; ")
    }

    private func objectionToStored(
        _ emission: Emission, _ index: Int, for request: HistoryRequest, _ status: Int, _ before: ArraySlice<Emission>,
        hasFailed: Bool, now: Date
    ) -> String? {
        let what = "v\(emission.identity.version) of status \(emission.identity.status)"
        // The received part of a cut body may be served for a range only.
        guard emission.kind != .cut || status == 206, isStorable(emission) else {
            return "\(what), which must not be stored"
        }
        if emission.identity.status == 400 { return "the refusal of an odd request" }
        for removal in removals where removal.path == request.path && removal.after > index {
            if removal.scope == home(of: emission), !isPartOfOwn(emission, for: request, status) {
                return "\(what), which was removed"
            }
        }
        let later = before.dropFirst(index + 1).contains { other in
            other.identity.path == request.path && other.kind == .whole && isStorable(other)
                && other.identity.status == 200
                && !other.hadRange && other.identity != emission.identity && home(of: other) == home(of: emission)
                && other.resource.vary == emission.resource.vary && other.identity.variant == emission.identity.variant
        }
        if later { return "\(what), which was replaced" }
        switch request.policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: return nil
        case .reloadIgnoringLocalCacheData: return "\(what), although it was to be fetched anew"
        case .reloadRevalidatingCacheData: return "\(what), unconfirmed"
        default: break
        }
        let age = now.timeIntervalSince(emission.time)
        let terms = Terms(emission.resource, isShared: isShared)
        if age < -1 { return hasFailed ? nil : "\(what), from the future" }
        let isFresh = age < Double(terms.lifetime ?? 0) + 1 && !terms.noCache
        if isFresh, request.cacheControl != "no-cache", request.cacheControl != "max-age=0" || age < 1 { return nil }
        if terms.mustRevalidate || terms.noCache || request.cacheControl == "no-cache" {
            return "\(what), \(Int(age)) s old, unconfirmed"
        }
        let stale = age - Double(terms.lifetime ?? 0)
        if stale < Double(terms.whileRevalidating) + 1, request.cacheControl != "max-age=0" { return nil }
        if hasFailed { return nil }
        return "\(what), \(Int(age)) s old, stale"
    }

    private func isStorable(_ emission: Emission) -> Bool {
        let terms = Terms(emission.resource, isShared: isShared)
        if terms.noStore || isShared && terms.isPrivate { return false }
        // A 304 does not determine the owner: the response that it confirms was stored before.
        if isShared, emission.hadCookie, !terms.isExplicit, emission.kind != .confirmation { return false }
        if isShared, emission.scope != nil, !terms.isForEverybody { return false }
        return true
    }

    /// In whose part of the store it is.
    private func home(of emission: Emission) -> String? {
        isShared && Terms(emission.resource, isShared: isShared).isForEverybody ? nil : emission.scope
    }

    /// True for a part of a body, in the namespace of its owner. A body comes to its home when it is complete.
    private func isPartOfOwn(_ emission: Emission, for request: HistoryRequest, _ status: Int) -> Bool {
        status == 206 && emission.kind != .whole && emission.scope != nil && emission.scope == request.scope
    }

    private func isVisible(_ emission: Emission, to request: HistoryRequest) -> Bool {
        let home = home(of: emission)
        if home == request.scope { return true }
        return home == nil && isShared && Terms(emission.resource, isShared: isShared).isForEverybody
    }

    /// The meaning of a resource's Cache-Control: the few directives that the histories use.
    private struct Terms {
        var lifetime: Int?
        /// True if the lifetime is explicit.
        var isExplicit = false
        var noStore = false
        var noCache = false
        var isPrivate = false
        var mustRevalidate = false
        var isForEverybody = false
        var whileRevalidating = 0

        init(_ resource: HistoryResource, isShared: Bool) {
            var sharedLifetime: Int?
            for part in (resource.cacheControl ?? "").split(separator: ",") {
                let words = part.filter { $0 != " " }.split(separator: "=")
                let number = words.count > 1 ? Int(words[1]) : nil
                switch words.first {
                case "max-age": lifetime = number
                case "s-maxage": if isShared { (sharedLifetime, mustRevalidate, isForEverybody) = (number, true, true) }
                case "no-store": noStore = true
                case "no-cache": noCache = true
                case "private": isPrivate = true
                case "public": isForEverybody = true
                case "must-revalidate": (mustRevalidate, isForEverybody) = (true, true)
                case "stale-while-revalidate": whileRevalidating = number ?? 0
                default: break
                }
            }
            lifetime = sharedLifetime ?? lifetime
            isExplicit = lifetime != nil
            // All files are old enough for the longest heuristic lifetime.
            if lifetime == nil, resource.validator == .date, resource.status == 200 { lifetime = 86_400 }
        }
    }
}
