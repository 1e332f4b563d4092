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
    /// A lifetime of the application's own, instead of the server's.
    public var freshnessOverride: FreshnessOverride?
    /// Declares that a request whose method is not safe by itself, such as a POST, asks a question and changes nothing, so
    /// that an equal request (same URL, same body: both belong to the key) may get the stored answer. By RFC 9110
    /// section 9.3.3 a POST is otherwise never answered from a cache.
    public var isSafeQuery: Bool
    /// The version of the application's own that the stored response must have been stored for; one of another counts as absent.
    /// Default: any.
    public var version: String?
    /// False if a redirect is itself the response. A response to which redirects led then counts as absent. Default: true.
    public var followsRedirects: Bool

    public init(
        method: HTTPRequest.Method = .get,
        url: String,
        fields: HTTPFields = HTTPFields(),
        policy: CachePolicy = .useProtocolCachePolicy,
        freshnessOverride: FreshnessOverride? = nil,
        isSafeQuery: Bool = false,
        version: String? = nil,
        followsRedirects: Bool = true
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.policy = policy
        self.freshnessOverride = freshnessOverride
        self.isSafeQuery = isSafeQuery
        self.version = version
        self.followsRedirects = followsRedirects
    }
}
