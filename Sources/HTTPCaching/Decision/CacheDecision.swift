public import HTTPTypes

/// What to do with a request.
public enum CacheDecision: Sendable, Hashable {
    /// Answer from the store, without asking the origin.
    case serve(ServedResponse)
    /// Answer from the store at once and refresh the entry in the background (RFC 5861 section 3). The validation's fields
    /// are empty when the stored response has no validator.
    case serveAndRevalidate(ServedResponse, CacheValidation)
    /// Ask the origin whether the stored response still holds.
    case validate(CacheValidation)
    /// Ask the origin as if nothing usable were stored.
    case forward(CacheForward)
    /// Fail with 504: only a stored response was wanted (`only-if-cached`, ``CachePolicy/returnCacheDataDontLoad``).
    case fail(CacheFailure)
}

/// Which part of a stored body answers the request.
public enum ServedBody: Sendable, Hashable {
    /// All of it.
    case whole
    /// These bytes of the representation, of `total` when that is known: the answer is a 206.
    case range(Range<Int64>, total: Int64?)
    /// No body: the answer to HEAD, a 304, a 416.
    case none
}

/// An answer from the store.
public struct ServedResponse: Sendable, Hashable {
    /// Which of the candidates answers.
    public var candidate: Int
    /// The status of the answer: the stored one, 206 for a range, 304 for a client's own condition, 416 for a range beyond the
    /// end.
    public var status: HTTPResponse.Status
    /// Which part of the stored body goes with it.
    public var body: ServedBody
    /// The stored response's age in seconds (RFC 9111 section 4.2.3): the value of the `Age` field.
    public var age: Int
    /// For how many more seconds it is fresh; negative: since how many seconds it is stale.
    public var remainingLifetime: Int
    /// Why a response that is not fresh is served all the same; `nil` when it is fresh.
    public var staleness: StaleReason?
    /// The fields that must not be sent without validation: those named in a qualified `no-cache` (RFC 9111 section
    /// 5.2.2.4), in lower case.
    public var withheldFields: [String]

    /// Whether the answer is stale.
    public var isStale: Bool { staleness != nil }
}

/// Why a stale response is served.
public enum StaleReason: Sendable, Hashable {
    /// The request's `max-stale`, or the policy's (RFC 9111 section 5.2.1.2).
    case maxStale
    /// The response's `stale-while-revalidate` (RFC 5861 section 3).
    case whileRevalidating
    /// The policy takes what is stored, whatever its age.
    case policy
    /// The origin failed or could not be reached (RFC 5861 section 4, RFC 9111 section 4.2.4).
    case originFailed
}

/// A question to the origin whether a stored response still holds (RFC 9111 section 4.3).
public struct CacheValidation: Sendable, Hashable {
    /// The stored response that would answer after a 304, or when the origin fails and ``mayServeStaleOnError`` allows it.
    public var candidate: Int
    /// All candidates whose validators are in ``fields``; a 304 may mean any of them.
    public var candidates: [Int]
    /// The fields to set on the request, each in place of a field of that name: `If-None-Match`, `If-Modified-Since`, and
    /// `Cache-Control: max-age=0` when the user asked for a revalidation.
    public var fields: HTTPFields
    /// Why the stored response is not served as it is.
    public var reason: ForwardReason
    /// Whether the stored response may be served, stale as it is, if the origin cannot be reached. For an error status,
    /// and at another time, ask ``CacheRules/mayServeStale(_:after:for:now:)``.
    public var mayServeStaleOnError: Bool
    /// For how many more seconds the stored response is fresh; negative: since how many seconds it is stale.
    public var remainingLifetime: Int
}

/// A request that goes to the origin.
public struct CacheForward: Sendable, Hashable {
    /// Why.
    public var reason: ForwardReason
    /// The fields to set on the request, each in place of a field of that name: `Cache-Control: no-cache` when caches on the
    /// way are to be passed by. Empty otherwise.
    public var fields: HTTPFields
    /// A stored response without a validator that may be served, stale as it is, if the origin cannot be reached; for an
    /// error status ask ``CacheRules/mayServeStale(_:after:for:now:)``.
    public var staleCandidate: Int?
    /// The value of `If-Range` by which what is held of the representation could be completed (RFC 9111 section 3.4, RFC 9110 section
    /// 13.1.5): a strong entity tag or a date that counts as strong. `nil` where nothing is held, or it has no strong validator.
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

/// Why a request goes to the origin, with the names of RFC 9211 section 2.2.
public enum ForwardReason: String, Sendable, Hashable {
    /// The cache was told not to look.
    case bypass
    /// The method is not answered from a cache.
    case method
    /// Nothing is stored under the key.
    case uriMiss = "uri-miss"
    /// What is stored was selected by other request fields (RFC 9111 section 4.1).
    case varyMiss = "vary-miss"
    /// Something is stored, and it cannot be used for another reason.
    case miss
    /// What is stored is fresh, and the request wants it confirmed.
    case request
    /// What is stored is stale, or must be confirmed before each use.
    case stale
    /// What is stored does not cover the range that is asked for.
    case partial
}

/// A request that wanted only what is stored, in vain. The status to answer with is 504 (RFC 9111 section 5.2.1.7).
public struct CacheFailure: Sendable, Hashable {
    /// Who wanted it so.
    public enum Reason: Sendable, Hashable {
        /// The request's directive `only-if-cached`.
        case onlyIfCached
        /// The policy ``CachePolicy/returnCacheDataDontLoad``.
        case policy
    }

    /// Who wanted it so.
    public var reason: Reason
    /// Why nothing stored could be used.
    public var missing: ForwardReason
}
