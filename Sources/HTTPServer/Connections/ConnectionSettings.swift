package import ConcurrencyPrimitives

/// The settings that all connections of a listener share and keep while they live.
package struct ConnectionSettings: Sendable, Hashable {
    package var limits = RequestLimits()
    /// Bytes of content of requests that are held at a time. More: 503, or 429.
    package var contentBudget = ShareLimiter.Limits(total: 256 << 20)
    /// From the first byte of a request, or from the connection's beginning, until its head is whole. Then: 408.
    package var headTimeout: Duration = .seconds(15)
    /// Without a byte of a request's content. Then: 408.
    package var bodyTimeout: Duration = .seconds(30)
    /// The least rate of a request's content. Below it: 408.
    package var requestRate = MinimumRate(bytesPerSecond: 1 << 10)
    /// Between two requests. Then the connection is closed.
    package var idleTimeout: Duration = .seconds(75)
    /// Without the client taking another piece of a response (256 KiB at most). Then the connection is closed.
    package var writeTimeout: Duration = .seconds(60)
    /// The least rate at which a client takes a response. Below it, the connection is closed.
    package var responseRate = MinimumRate(bytesPerSecond: 4 << 10)
    /// The proxies in front whose word on the client is believed.
    package var trustedProxies = TrustedProxies()
    /// The field that names a request on all machines; nil: none is sent.
    package var idFieldName: String? = "X-Request-Id"

    package init() {}
}
