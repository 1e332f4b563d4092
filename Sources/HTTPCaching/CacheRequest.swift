public import HTTPTypes

/// A request as the cache sees it.
public struct CacheRequest: Sendable, Hashable {
    /// The method. Only GET, HEAD, QUERY and what ``isSafeQuery`` declares safe are answered from a cache.
    public var method: HTTPRequest.Method
    /// The absolute URL that is asked for, before any redirect. A fragment does no harm.
    public var url: String
    /// All fields of the request, those that conditions and `Vary` look at included.
    public var fields: HTTPFields
    /// The user's own word about the cache.
    public var policy: CachePolicy
    /// A lifetime of the application's own, instead of the server's.
    public var ownLifetime: OwnLifetime?
    /// Declares that a request whose method is not safe by itself, such as a POST, asks a question and changes nothing, so
    /// that an equal request (same URL, same body: both are in the ``CacheKey``) may get the stored answer. By RFC 9110
    /// section 9.3.3 a POST is otherwise never answered from a cache.
    public var isSafeQuery: Bool
    /// The version of the application's own that the stored response must have been stored for; one of another counts as absent.
    /// Default: any.
    public var version: String?

    public init(
        method: HTTPRequest.Method = .get,
        url: String,
        fields: HTTPFields = HTTPFields(),
        policy: CachePolicy = .useProtocolCachePolicy,
        ownLifetime: OwnLifetime? = nil,
        isSafeQuery: Bool = false,
        version: String? = nil
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.policy = policy
        self.ownLifetime = ownLifetime
        self.isSafeQuery = isSafeQuery
        self.version = version
    }
}
