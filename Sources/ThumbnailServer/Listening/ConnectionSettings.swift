import Locking

/// What all connections of the data listener have in common and keep while they live.
struct ConnectionSettings: Sendable, Hashable {
    var limits = RequestLimits()
    /// Bytes of content of requests that are held at a time. More: 503, or 429.
    var contentBudget = ShareLimiter.Limits(total: 256 << 20)
    /// From the first byte of a request, or from the connection's beginning, until its head is whole. Then: 408.
    var headTimeout: Duration = .seconds(15)
    /// Without a byte of a request's content. Then: 408.
    var bodyTimeout: Duration = .seconds(30)
    /// How quickly a request's content must come. More slowly: 408.
    var requestRate = MinimumRate(bytesPerSecond: 1 << 10)
    /// Between two requests. Then the connection is closed.
    var idleTimeout: Duration = .seconds(75)
    /// Without the client taking another piece of an answer (256 KiB at most). Then the connection is closed.
    var writeTimeout: Duration = .seconds(60)
    /// How quickly a client must take an answer. More slowly: the connection is closed.
    var responseRate = MinimumRate(bytesPerSecond: 4 << 10)
    /// Who is believed when it says whom it asks for.
    var trustedProxies = TrustedProxies()
    /// The field that names a request on all machines; nil: none is sent.
    var idFieldName: String? = "X-Request-Id"
    /// The member of Via that answers which are passed on get.
    var via = "1.1 imgcache"
}
