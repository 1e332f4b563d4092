/// What all connections of the data listener have in common and keep while they live.
struct ConnectionSettings: Sendable, Hashable {
    var limits = RequestLimits()
    /// Bytes of content of all requests that are held at a time. More: 503.
    var contentBudget = 256 << 20
    /// From the first byte of a request, or from the connection's beginning, until its head is whole. Then: 408.
    var headTimeout: Duration = .seconds(15)
    /// Without a byte of a request's content. Then: 408.
    var bodyTimeout: Duration = .seconds(30)
    /// Between two requests. Then the connection is closed.
    var idleTimeout: Duration = .seconds(75)
    /// Without the client taking another piece of an answer (256 KiB at most). Then the connection is closed.
    var writeTimeout: Duration = .seconds(60)
    /// The field that names a request on all machines; nil: none is sent.
    var idFieldName: String? = "X-Request-Id"
    /// The member of Via that answers which are passed on get.
    var via = "1.1 imgcache"
}
