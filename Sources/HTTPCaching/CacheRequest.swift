public import HTTPTypes

/// A request, as far as caching is concerned.
public struct CacheRequest: Sendable, Hashable {
    /// The method. Only GET, HEAD, QUERY and requests declared safe by ``isSafeQuery`` are served from a cache.
    public var method: HTTPRequest.Method
    /// The absolute URL that is requested, before any redirect. A fragment is ignored.
    public var url: String
    /// All fields of the request, including those that conditions and `Vary` refer to.
    public var fields: HTTPFields
    /// The application's cache policy.
    public var policy: CachePolicy
    /// A freshness lifetime that replaces the server's.
    public var ownLifetime: OwnLifetime?
    /// Declares that a request with an unsafe method, such as a POST, only retrieves and changes nothing, so that an
    /// equal request (same URL, same body: both are in the ``CacheKey``) may receive the stored response. Otherwise a
    /// POST is never served from a cache (RFC 9110 section 9.3.3).
    public var isSafeQuery: Bool

    public init(
        method: HTTPRequest.Method = .get,
        url: String,
        fields: HTTPFields = HTTPFields(),
        policy: CachePolicy = .useProtocolCachePolicy,
        ownLifetime: OwnLifetime? = nil,
        isSafeQuery: Bool = false
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.policy = policy
        self.ownLifetime = ownLifetime
        self.isSafeQuery = isSafeQuery
    }
}
