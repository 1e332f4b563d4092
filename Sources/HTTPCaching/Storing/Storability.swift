public import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

/// Whether a response may be stored (RFC 9111 section 3).
public enum Storability: Sendable, Hashable {
    /// It may. A lifetime of 0 means that it must be confirmed before it is used.
    case store(StoreTerms)
    /// It must not.
    case doNotStore(StoreRefusal)

    /// Whether it may.
    public var isStorable: Bool {
        if case .store = self { true } else { false }
    }
}

/// What a response is stored on.
public struct StoreTerms: Sendable, Hashable {
    /// For how many seconds the response is fresh, from when the origin made it.
    public var lifetime: Int
    /// Who says so.
    public var source: Freshness.Source
    /// Whether it has a validator, so that it can be confirmed and, if that is strong, completed.
    public var hasValidator: Bool
}

/// Why a response must not be stored.
public struct StoreRefusal: Sendable, Hashable, CustomStringConvertible {
    /// In words.
    public var reason: String
    /// The section that says so, for example `RFC 9111 section 5.2.2.5`.
    public var section: String

    public var description: String { "\(reason) (\(section))" }
}

extension CacheRules {
    /// Whether `response`, the final one to `request`, may be stored.
    ///
    /// An interim response (1xx) and a 304 are never stored; give a 304 to
    /// ``afterNotModified(_:validation:stored:request:redirects:requestTime:responseTime:)``.
    /// - Parameters:
    ///   - response: The final response.
    ///   - request: The request that it answers.
    ///   - receivedAt: When the response was received; it stands in for a missing `Date`.
    public func storability(of response: HTTPResponse, to request: CacheRequest, receivedAt: Date) -> Storability {
        let fields = response.headerFields
        let facts = ResponseFacts(fields, receivedAt: receivedAt, rules: self)
        if let refusal = refusal(of: response, facts: facts, to: request) { return .doNotStore(refusal) }
        if let own = request.freshnessOverride, own.applies(to: response.status) {
            return .store(
                StoreTerms(
                    lifetime: max(0, own.seconds), source: .freshnessOverride,
                    hasValidator: ValidatorFields(fields).exists))
        }
        let (lifetime, source) = lifetime(facts, status: response.status)
        return .store(StoreTerms(lifetime: lifetime, source: source, hasValidator: ValidatorFields(fields).exists))
    }

    private func refusal(of response: HTTPResponse, facts: ResponseFacts, to request: CacheRequest) -> StoreRefusal? {
        let code = response.status.code
        let directives = facts.directives
        let own = request.freshnessOverride.flatMap { $0.applies(to: response.status) ? $0 : nil }
        if code < 200 || code > 599 {
            return StoreRefusal(reason: "status \(code) is not a final response", section: "RFC 9111 section 3")
        }
        if code == 304 {
            return StoreRefusal(
                reason: "a 304 updates stored responses and is none itself", section: "RFC 9111 section 4.3.4")
        }
        if CacheRules.concernsOneRequest(response.status) {
            return StoreRefusal(
                reason: "status \(code) is about this request, and says nothing of others",
                section: "RFC 9110 section 15.5")
        }
        if let refusal = refusalOfMethod(response, facts: facts, to: request, own: own) { return refusal }
        if code == 206, let refusal = refusalOfPart(response, to: request) { return refusal }
        let understood = CacheRules.understands(response.status)
        if directives.flags.contains(.mustUnderstand), !understood {
            return StoreRefusal(
                reason: "must-understand, and status \(code) is not known here", section: "RFC 9111 section 5.2.2.3")
        }
        if own?.storesDespiteNoStore != true {
            // must-understand takes the place of no-store where the status is understood.
            if directives.flags.contains(.noStore), !directives.flags.contains(.mustUnderstand) {
                return StoreRefusal(reason: "the response says no-store", section: "RFC 9111 section 5.2.2.5")
            }
            if RequestDirectives(request.fields).noStore {
                return StoreRefusal(reason: "the request says no-store", section: "RFC 9111 section 5.2.1.5")
            }
        }
        if mode == .shared, let refusal = refusalByShared(response, facts, request) { return refusal }
        if own != nil || isCacheable(facts, status: response.status) { return nil }
        return StoreRefusal(
            reason: "status \(code) is stored only with explicit freshness", section: "RFC 9111 section 3")
    }

    /// A part is stored only when it says in one valid `Content-Range` which part it is, and is as long as that.
    private func refusalOfPart(_ response: HTTPResponse, to request: CacheRequest) -> StoreRefusal? {
        guard request.method == .get, let range = ContentRange(response.headerFields)?.range else {
            return StoreRefusal(
                reason: "a 206 without one valid Content-Range is no part of anything", section: "RFC 9111 section 3.3")
        }
        let length = ContentLength.value(of: response.headerFields)
        if length != nil || response.headerFields.contains(.contentLength), length != Int64(range.count) {
            return StoreRefusal(
                reason: "the 206's Content-Length is not that of its Content-Range", section: "RFC 9110 section 15.3.7")
        }
        return nil
    }

    private func refusalByShared(
        _ response: HTTPResponse, _ facts: ResponseFacts, _ request: CacheRequest
    ) -> StoreRefusal? {
        let directives = facts.directives
        if directives.flags.contains(.private) {
            return StoreRefusal(
                reason: "the response is private, and this cache is shared", section: "RFC 9111 section 5.2.2.7")
        }
        if request.fields.contains(.authorization), !facts.allowsAuthorized {
            return StoreRefusal(
                reason: "the request has Authorization, and nothing allows a shared cache to store the answer",
                section: "RFC 9111 section 3.5")
        }
        // What a session gets is not everybody's unless the origin says for how long it is (heuristics are this cache's idea).
        if request.fields.contains(.cookie), !hasExplicitFreshness(facts), request.freshnessOverride == nil {
            return StoreRefusal(
                reason: "the request has a cookie, and nothing says for how long the response is fresh",
                section: "RFC 9111 section 4.2.2")
        }
        if response.headerFields.contains(.setCookie), !CacheRules.isForAll(facts) {
            return StoreRefusal(
                reason: "the response sets a cookie, and nothing says that this is for everybody",
                section: "RFC 9111 section 7.3")
        }
        return nil
    }

    /// Whether a response says explicitly that a shared cache may give it to everybody.
    ///
    /// Wanted of one that sets a cookie. RFC 9111 section 7.3 leaves it to the origin to say `private` then; origins that add a
    /// session's cookie to whatever they send do not, and the next client would be in that session.
    static func isForAll(_ facts: ResponseFacts) -> Bool {
        facts.isTargeted || facts.directives.flags.contains(.public) || facts.directives.sharedMaxAge != .absent
    }

    private func refusalOfMethod(
        _ response: HTTPResponse, facts: ResponseFacts, to request: CacheRequest, own: FreshnessOverride?
    ) -> StoreRefusal? {
        if request.method == .get || request.method == .head { return nil }
        if request.isQuery {
            return own != nil || hasExplicitFreshness(facts)
                ? nil
                : StoreRefusal(
                    reason: "\(request.method.rawValue) is stored only with explicit freshness",
                    section: "RFC 9110 section 9.3.3")
        }
        guard request.method == .post else {
            return StoreRefusal(
                reason: "answers to \(request.method.rawValue) are not stored", section: "RFC 9110 section 9.2.3")
        }
        guard hasExplicitFreshness(facts), (200...299).contains(response.status.code),
            let location = response.headerFields[.contentLocation],
            let url = try? HTTPURL(request.url),
            let named = try? HTTPURL(reference: location, relativeTo: url), named.normalized == url.normalized
        else {
            return StoreRefusal(
                reason:
                    "the answer to a POST is stored only with explicit freshness and its own URL as Content-Location",
                section: "RFC 9110 section 9.3.3")
        }
        return nil
    }

    func hasExplicitFreshness(_ facts: ResponseFacts) -> Bool {
        if facts.directives.maxAge.value != nil { return true }
        if mode == .shared, facts.directives.sharedMaxAge.value != nil { return true }
        if case .at = facts.expires { return true }
        return false
    }

    /// The last condition of RFC 9111 section 3: one of these must be there.
    private func isCacheable(_ facts: ResponseFacts, status: HTTPResponse.Status) -> Bool {
        let directives = facts.directives
        if directives.flags.contains(.public) || directives.maxAge != .absent { return true }
        if mode == .private, directives.flags.contains(.private) || !directives.privateFields.isEmpty { return true }
        if mode == .shared, directives.sharedMaxAge != .absent { return true }
        if case .absent = facts.expires { return status.isHeuristicallyCacheable }
        return true
    }

    /// The statuses whose caching behaviour this module knows and obeys.
    static func understands(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 200, 203, 204, 206, 300, 301, 302, 303, 304, 307, 308, 400, 403, 404, 405, 410, 414, 451, 500, 501, 502,
            503, 504:
            true
        default: false
        }
    }
}

extension CacheRequest {
    /// Whether the request asks without changing anything although it has a body.
    var isQuery: Bool { isSafeQuery || method.rawValue == "QUERY" }
}
