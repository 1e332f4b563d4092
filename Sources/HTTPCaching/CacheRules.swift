public import HTTPSemantics

/// The rules of HTTP caching for one cache: a pure function from values to a decision. No I/O, no clock, no storage, no
/// state.
///
/// * `decide(_:stored:now:)` decides how a request is handled, given the responses stored under its key (`keyURL(of:)`).
/// * `storability(of:to:redirects:receivedAt:)` decides if a response may be stored and how long it is fresh, and
///   `stored(_:to:redirects:finalURL:requestTime:responseTime:bodyLength:held:)` creates the ``StoredResponse`` to keep.
/// * `afterNotModified(_:validation:stored:request:redirects:finalURL:requestTime:responseTime:)` handles a 304,
///   `mayServeStale(_:after:for:now:)` an origin that failed, `urlsInvalidated(by:to:)` a successful unsafe
///   request.
/// * `explain(_:for:now:)` describes all of it in words.
public struct CacheRules: Sendable, Hashable {
    /// The kind of cache: for one user, or shared.
    public var mode: CacheMode
    /// The targeted fields that this cache obeys before `Cache-Control`, in order of precedence (RFC 9213 section 2.2), in
    /// lower case. By default `cdn-cache-control` for a shared cache, none for a private one.
    public var targetedFieldNames: [String]
    /// True if a response 500, 502, 503 or 504 to a validation is treated as no response at all, which RFC 9111 section
    /// 4.3.3 leaves to the cache, so that a stale response may be used even without `stale-if-error`. Default: false.
    public var treatsServerErrorAsUnreachable: Bool
    /// The query parameters that are ignored when two final URLs are compared, to decide if a 304, a 206 or a response
    /// to HEAD belongs to the resource of a stored response (RFC 9110 section 8.8.3). Default
    /// `SignatureParameters.known`.
    public var signatures = SignatureParameters.known

    /// The differences between URLs that do not make another key. Default: signatures, in a private cache.
    public var keys = KeyRules()

    /// True if a response without explicit freshness counts as fresh for a tenth of the time since `Last-Modified`, at
    /// most a day (RFC 9111 section 4.2.2: "MAY"). Otherwise it is validated before each use. Default: true.
    public var usesHeuristics: Bool

    /// Request fields, in lower case, that every response is assumed to vary on, as if its `Vary` named them. Default:
    /// none.
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
