package import ConcurrencyPrimitives
import HTTPSemantics
package import HTTPTypes

/// The settings common to all connections of a listener.
package struct ConnectionSettings: Sendable, Hashable {
    package var limits = RequestLimits()
    /// The number of content bytes of requests held at a time. Beyond: 503, or 429.
    package var contentBudget = ShareLimiter.Limits(total: 256 << 20)
    /// The time from the first byte of a request, or from the connection's start, to the end of its head. Then: 408.
    package var headTimeout: Duration = .seconds(15)
    /// The time without a byte of a request's content. Then: 408.
    package var bodyTimeout: Duration = .seconds(30)
    /// The minimum rate of a request's content. Below: 408.
    package var requestRate = MinimumRate(bytesPerSecond: 1 << 10)
    /// The time between two requests. Then the connection is closed.
    package var idleTimeout: Duration = .seconds(75)
    /// The time in which the client must accept another piece of a response (256 KiB at most). Then the connection is
    /// closed.
    package var writeTimeout: Duration = .seconds(60)
    /// The minimum rate of a response. Below, the connection is closed.
    package var responseRate = MinimumRate(bytesPerSecond: 4 << 10)
    /// The proxies in front whose information about the client is trusted.
    package var trustedProxies = TrustedProxies()
    /// The field for the request's id, which replaces one of the response. nil to send none.
    package var idField: HTTPField.Name? = .known("X-Request-Id")

    package init() {}
}
