public import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

/// The decision on storing a response (RFC 9111 section 3).
public enum Storability: Sendable, Hashable {
    /// It may be stored. A lifetime of 0 means that it must be validated before it is used.
    case store(StorageTerms)
    /// It must not be stored.
    case doNotStore(NotStorableReason)

    /// True if it may be stored.
    public var isStorable: Bool {
        if case .store = self { true } else { false }
    }
}

/// The properties of a response to be stored.
public struct StorageTerms: Sendable, Hashable {
    /// The freshness lifetime in seconds, from the time at which the origin generated the response.
    public var lifetime: Int
    /// The source of the lifetime.
    public var source: Freshness.Source
    /// True if it has a validator, so that it can be validated and, if that is strong, completed.
    public var hasValidator: Bool
}

/// The reason why a response must not be stored.
public struct NotStorableReason: Sendable, Hashable, CustomStringConvertible {
    /// The reason in words.
    public var reason: String
    /// The section that requires it, for example `RFC 9111 section 5.2.2.5`.
    public var section: String

    public var description: String { "\(reason) (\(section))" }
}

extension CacheRules {
    /// Decides if `response`, the final one to `request`, may be stored.
    ///
    /// An interim response (1xx) and a 304 are never stored; pass a 304 to
    /// ``afterNotModified(_:validation:stored:request:redirects:finalURL:requestTime:responseTime:)``.
    /// - Parameters:
    ///   - response: The final response.
    ///   - request: The request for it.
    ///   - redirects: The redirects that were followed to it, in order.
    ///   - receivedAt: The time of receipt, in place of a missing `Date`.
    public func storability(
        of response: HTTPResponse, to request: CacheRequest, redirects: [StoredHead] = [], receivedAt: Date
    ) -> Storability {
        let fields = response.headerFields
        let facts = ResponseFacts(fields, receivedAt: receivedAt, rules: self)
        if let refusal = refusal(of: response, facts: facts, to: request) { return .doNotStore(refusal) }
        if mode == .shared, redirects.contains(where: { isPrivate($0, receivedAt: receivedAt) }) {
            return .doNotStore(
                NotStorableReason(
                    reason: "a redirect to the response is private, and this cache is shared",
                    section: "RFC 9111 section 5.2.2.7"))
        }
        if let own = request.freshnessOverride, own.applies(to: response.status) {
            return .store(
                StorageTerms(
                    lifetime: max(0, own.seconds), source: .freshnessOverride,
                    hasValidator: ValidatorFields(fields).exists))
        }
        let (lifetime, source) = lifetime(facts, status: response.status)
        return .store(StorageTerms(lifetime: lifetime, source: source, hasValidator: ValidatorFields(fields).exists))
    }

    /// Returns true if a redirect that led to a stored response is for one user only.
    func hasPrivateRedirect(_ response: StoredResponse) -> Bool {
        response.redirects.contains { isPrivate($0, receivedAt: response.responseTime) }
    }

    private func isPrivate(_ hop: StoredHead, receivedAt: Date) -> Bool {
        ResponseFacts(hop.fields, receivedAt: receivedAt, rules: self).directives.flags.contains(.private)
    }

    private func refusal(of response: HTTPResponse, facts: ResponseFacts, to request: CacheRequest)
        -> NotStorableReason?
    {
        let code = response.status.code
        let directives = facts.directives
        let own = request.freshnessOverride.flatMap { $0.applies(to: response.status) ? $0 : nil }
        if code < 200 || code > 599 {
            return NotStorableReason(reason: "status \(code) is not a final response", section: "RFC 9111 section 3")
        }
        if code == 304 {
            return NotStorableReason(
                reason: "a 304 updates stored responses and is none itself", section: "RFC 9111 section 4.3.4")
        }
        if CacheRules.concernsOneRequest(response.status) {
            return NotStorableReason(
                reason: "status \(code) is about this request, and says nothing of others",
                section: "RFC 9110 section 15.5")
        }
        if let refusal = refusalOfMethod(response, facts: facts, to: request, own: own) { return refusal }
        if code == 206, let refusal = refusalOfPart(response, to: request) { return refusal }
        let understood = CacheRules.understands(response.status)
        if directives.flags.contains(.mustUnderstand), !understood {
            return NotStorableReason(
                reason: "must-understand, and status \(code) is not known here", section: "RFC 9111 section 5.2.2.3")
        }
        if own?.storesDespiteNoStore != true {
            // must-understand overrides no-store if the status is understood.
            if directives.flags.contains(.noStore), !directives.flags.contains(.mustUnderstand) {
                return NotStorableReason(reason: "the response says no-store", section: "RFC 9111 section 5.2.2.5")
            }
            if RequestDirectives(request.fields).noStore {
                return NotStorableReason(reason: "the request says no-store", section: "RFC 9111 section 5.2.1.5")
            }
        }
        if mode == .shared, let refusal = refusalByShared(response, facts, request) { return refusal }
        if own != nil || isCacheable(facts, status: response.status) { return nil }
        return NotStorableReason(
            reason: "status \(code) is stored only with explicit freshness", section: "RFC 9111 section 3")
    }

    /// A partial response is stored only with a single valid `Content-Range`, and if its length matches that.
    private func refusalOfPart(_ response: HTTPResponse, to request: CacheRequest) -> NotStorableReason? {
        guard request.method == .get, let range = ContentRange(response.headerFields)?.range else {
            return NotStorableReason(
                reason: "a 206 without one valid Content-Range is no part of anything", section: "RFC 9111 section 3.3")
        }
        let length = ContentLength.value(of: response.headerFields)
        if length != nil || response.headerFields.contains(.contentLength), length != Int64(range.count) {
            return NotStorableReason(
                reason: "the 206's Content-Length is not that of its Content-Range", section: "RFC 9110 section 15.3.7")
        }
        return nil
    }

    private func refusalByShared(
        _ response: HTTPResponse, _ facts: ResponseFacts, _ request: CacheRequest
    ) -> NotStorableReason? {
        let directives = facts.directives
        if directives.flags.contains(.private) {
            return NotStorableReason(
                reason: "the response is private, and this cache is shared", section: "RFC 9111 section 5.2.2.7")
        }
        if request.fields.contains(.authorization), !facts.allowsAuthorized {
            return NotStorableReason(
                reason: "the request has Authorization, and nothing allows a shared cache to store the answer",
                section: "RFC 9111 section 3.5")
        }
        // A response to a request with a session cookie is shared only if its freshness is explicit, because a heuristic is the cache's
        // guess.
        if request.fields.contains(.cookie), !hasExplicitFreshness(facts), request.freshnessOverride == nil {
            return NotStorableReason(
                reason: "the request has a cookie, and nothing says for how long the response is fresh",
                section: "RFC 9111 section 4.2.2")
        }
        if response.headerFields.contains(.setCookie), !CacheRules.isExplicitlyShared(facts) {
            return NotStorableReason(
                reason: "the response sets a cookie, and nothing says that this is for everybody",
                section: "RFC 9111 section 7.3")
        }
        return nil
    }

    /// Returns true if a response explicitly allows a shared cache to serve it to all clients.
    ///
    /// This is required of responses that set a cookie. RFC 9111 section 7.3 expects the origin to send `private` in that case. Origins
    /// that add a session cookie to every response often do not, and the next client would join that session.
    static func isExplicitlyShared(_ facts: ResponseFacts) -> Bool {
        facts.isTargeted || facts.directives.flags.contains(.public) || facts.directives.sharedMaxAge != .absent
    }

    private func refusalOfMethod(
        _ response: HTTPResponse, facts: ResponseFacts, to request: CacheRequest, own: FreshnessOverride?
    ) -> NotStorableReason? {
        if request.method == .get || request.method == .head { return nil }
        if request.isQuery {
            return own != nil || hasExplicitFreshness(facts)
                ? nil
                : NotStorableReason(
                    reason: "\(request.method.rawValue) is stored only with explicit freshness",
                    section: "RFC 9110 section 9.3.3")
        }
        guard request.method == .post else {
            return NotStorableReason(
                reason: "answers to \(request.method.rawValue) are not stored", section: "RFC 9110 section 9.2.3")
        }
        guard hasExplicitFreshness(facts), (200...299).contains(response.status.code),
            let location = response.headerFields[.contentLocation],
            let url = try? HTTPURL(request.url),
            let named = try? HTTPURL(reference: location, relativeTo: url), named.normalized == url.normalized
        else {
            return NotStorableReason(
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

    /// The last condition of RFC 9111 section 3: one of these must be present.
    private func isCacheable(_ facts: ResponseFacts, status: HTTPResponse.Status) -> Bool {
        let directives = facts.directives
        if directives.flags.contains(.public) || directives.maxAge != .absent { return true }
        if mode == .private, directives.flags.contains(.private) || !directives.privateFields.isEmpty { return true }
        if mode == .shared, directives.sharedMaxAge != .absent { return true }
        if case .absent = facts.expires { return status.isHeuristicallyCacheable }
        return true
    }

    /// Returns true for the statuses whose caching behaviour this module implements.
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
    /// True if the request only retrieves although it has a body.
    var isQuery: Bool { isSafeQuery || method == .query }

    /// True if a stored response may answer the request (RFC 9111 section 4).
    package var isAnsweredFromStore: Bool { method == .get || method == .head || isQuery }
}
