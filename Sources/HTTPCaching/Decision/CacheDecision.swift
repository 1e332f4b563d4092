public import HTTPTypes

/// The decision on how to handle a request.
public enum CacheDecision: Sendable, Hashable {
    /// Serves a stored response without contacting the origin.
    case serve(ServedResponse)
    /// Serves a stored response at once and refreshes the entry in the background (RFC 5861 section 3). The
    /// validation's fields are empty if the stored response has no validator.
    case serveAndRevalidate(ServedResponse, CacheValidation)
    /// Validates a stored response with the origin.
    case validate(CacheValidation)
    /// Forwards the request to the origin, as if nothing usable were stored.
    case forward(CacheForward)
    /// Fails with 504: only a stored response was acceptable (`only-if-cached`,
    /// ``CachePolicy/returnCacheDataDontLoad``).
    case fail(CacheFailure)
}

/// The part of a stored body that is served.
public enum ServedBody: Sendable, Hashable {
    /// The whole body.
    case whole
    /// These bytes of the representation, of `total` if that is known: the response is a 206.
    case range(Range<Int64>, total: Int64?)
    /// No body: a response to HEAD, a 304, a 416.
    case none
}

/// A response served from the store.
public struct ServedResponse: Sendable, Hashable {
    /// The index of the candidate that is served.
    public var candidate: Int
    /// The status to send: the stored one, 206 for a range, 304 for a client's own condition, 416 for a range beyond
    /// the end.
    public var status: HTTPResponse.Status
    /// The part of the stored body to send.
    public var body: ServedBody
    /// The stored response's age in seconds (RFC 9111 section 4.2.3): the value of the `Age` field.
    public var age: Int
    /// The remaining freshness lifetime in seconds; negative if stale.
    public var remainingLifetime: Int
    /// The reason for serving a response that is not fresh; `nil` if it is fresh.
    public var staleness: StaleReason?
    /// The fields that must not be sent without validation, in lower case: those named in a qualified `no-cache` (RFC
    /// 9111 section 5.2.2.4).
    public var withheldFields: [String]

    /// True if the response is stale.
    public var isStale: Bool { staleness != nil }
}

/// The reason for serving a stale response.
public enum StaleReason: Sendable, Hashable, CaseIterable {
    /// The request's `max-stale`, or the policy's (RFC 9111 section 5.2.1.2).
    case maxStale
    /// The response's `stale-while-revalidate` (RFC 5861 section 3).
    case whileRevalidating
    /// The policy accepts stored responses regardless of their age.
    case policy
    /// The origin failed or could not be reached (RFC 5861 section 4, RFC 9111 section 4.2.4).
    case originFailed
}

/// A conditional request that validates a stored response (RFC 9111 section 4.3).
public struct CacheValidation: Sendable, Hashable {
    /// The index of the stored response to serve after a 304, or when the origin fails and ``mayServeStaleOnError``
    /// allows it.
    public var candidate: Int
    /// The indices of all candidates whose validators are in ``fields``; a 304 may refer to any of them.
    public var candidates: [Int]
    /// The fields to set on the request, each replacing a field of that name: `If-None-Match`, `If-Modified-Since`, and
    /// `Cache-Control: max-age=0` if the user requested a revalidation.
    public var fields: HTTPFields
    /// The reason why the stored response is not served directly.
    public var reason: ForwardReason
    /// True if the stale response may be served when the origin cannot be reached. For an error status, and at another
    /// time, use ``CacheRules/mayServeStale(_:after:for:now:)``.
    public var mayServeStaleOnError: Bool
    /// The stored response's remaining freshness lifetime in seconds; negative if stale.
    public var remainingLifetime: Int
}

/// A request that is forwarded to the origin.
public struct CacheForward: Sendable, Hashable {
    /// The reason for forwarding.
    public var reason: ForwardReason
    /// The fields to set on the request, each replacing a field of that name: `Cache-Control: no-cache` if caches on
    /// the way are to be bypassed. Empty otherwise.
    public var fields: HTTPFields
    /// The index of a stored response without a validator that may be served stale if the origin cannot be reached; for
    /// an error status use ``CacheRules/mayServeStale(_:after:for:now:)``.
    public var staleCandidate: Int?
    /// The value of `If-Range` with which a partially stored representation can be completed (RFC 9111 section 3.4, RFC
    /// 9110 section 13.1.5): a strong entity tag, or a date that counts as strong. `nil` if nothing is held, or without
    /// a strong validator.
    public var completingValidator: String?

    public init(
        reason: ForwardReason, fields: HTTPFields = HTTPFields(), staleCandidate: Int? = nil,
        completingValidator: String? = nil
    ) {
        self.reason = reason
        self.fields = fields
        self.staleCandidate = staleCandidate
        self.completingValidator = completingValidator
    }
}

/// The reason for forwarding a request, with the names of RFC 9211 section 2.2.
public enum ForwardReason: String, Sendable, Hashable {
    /// The cache is disabled by configuration or by the request.
    case bypass
    /// Responses to the method are not served from a cache.
    case method
    /// Nothing is stored under the key.
    case uriMiss = "uri-miss"
    /// The stored responses were selected by other request fields (RFC 9111 section 4.1).
    case varyMiss = "vary-miss"
    /// A stored response exists, but cannot be used for another reason.
    case miss
    /// The stored response is fresh, but the request requires validation.
    case request
    /// The stored response is stale, or must be validated before each use.
    case stale
    /// The stored part does not cover the requested range.
    case partial
}

/// A request that accepted only a stored response, without success. The status to send is 504 (RFC 9111 section
/// 5.2.1.7).
public struct CacheFailure: Sendable, Hashable {
    /// The origin of the restriction.
    public enum Reason: Sendable, Hashable {
        /// The request's directive `only-if-cached`.
        case onlyIfCached
        /// The policy ``CachePolicy/returnCacheDataDontLoad``.
        case policy
    }

    /// The origin of the restriction.
    public var reason: Reason
    /// The reason why no stored response could be used.
    public var missing: ForwardReason
}
