public import HTTPSemantics

/// The rules of HTTP caching for one cache: values in, a decision out. No I/O, no clock, no storage, no state.
///
/// * ``decide(_:stored:now:)`` says what to do with a request, given the stored responses under its ``CacheKey``.
/// * ``storability(of:to:receivedAt:)`` says whether a response may be stored and for how long it is fresh, and
///   ``stored(_:to:redirects:requestTime:responseTime:bodyLength:held:)`` makes the ``StoredResponse`` to keep.
/// * ``afterNotModified(_:validation:stored:request:redirects:requestTime:responseTime:)`` takes a 304,
///   ``mayServeStale(_:after:for:now:)`` an origin that failed, ``urlsInvalidated(by:to:)`` an unsafe request that worked.
/// * ``explain(_:for:now:)`` says all of it in words.
public struct CacheRules: Sendable, Hashable {
    /// Whose cache it is.
    public var mode: CacheMode
    /// The targeted fields that this cache obeys before `Cache-Control`, in order of precedence (RFC 9213 section 2.2), in
    /// lower case. By default `cdn-cache-control` for a shared cache, none for a private one.
    public var targetedFieldNames: [String]
    /// Whether an answer 500, 502, 503 or 504 to a validation is treated as no answer at all, which RFC 9111 section 4.3.3
    /// leaves to the cache, so that a stale response may be used even where no `stale-if-error` allows it. Default: no.
    public var treatsServerErrorAsUnreachable: Bool
    /// The query parameters that do not count when two final URLs are compared: what tells whether a 304, a 206 or a HEAD is about
    /// the resource that a stored response came from (RFC 9110 section 8.8.3). Default ``SignatureParameters/known``.
    public var signatures = SignatureParameters.known

    /// The differences between URLs that do not make another key. Default: signatures, in a private cache.
    public var keys = KeyRules()

    /// Whether a response that does not say for how long it is fresh counts as fresh for a tenth of the time since
    /// `Last-Modified`, at most a day (RFC 9111 section 4.2.2: "MAY"). Without, it is confirmed before each use. Default: yes.
    public var usesHeuristics: Bool

    /// Request fields, in lower case, that every response is taken to vary on, as if its `Vary` named them. Default: none.
    public var alwaysVaryingNames: Set<String> = []

    public init(
        mode: CacheMode = .private, targetedFieldNames: [String]? = nil, treatsServerErrorAsUnreachable: Bool = false,
        usesHeuristics: Bool = true
    ) {
        self.mode = mode
        self.usesHeuristics = usesHeuristics
        self.targetedFieldNames = targetedFieldNames ?? (mode == .shared ? ["cdn-cache-control"] : [])
        self.treatsServerErrorAsUnreachable = treatsServerErrorAsUnreachable
    }
}
