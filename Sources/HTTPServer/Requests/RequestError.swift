import ConcurrencyPrimitives

/// The reason for refusing a request before it reaches the handler.
package struct RequestError: Error, Hashable {
    /// The reasons that metrics distinguish.
    package enum Reason: String, CaseIterable {
        /// The request is invalid or too large.
        case malformed
        /// The request did not arrive in time, or too slowly.
        case timeout
        /// The queue is full.
        case queue
        /// The budget for contents is used up.
        case contents
        /// There are too many connections.
        case connections
        /// The client has used its share.
        case share
    }

    /// The status of the response: 400, 408, 413, 414, 417, 429, 431, 501, 503 or 505.
    package var status: Int
    /// A short name for programs and logs, such as `bad-chunk`.
    package var code: String
    /// One sentence for people.
    package var message: String
    package var reason = Reason.malformed
    /// The time in seconds after which the client may retry.
    package var retryAfter: Int?

    /// 400 (Bad Request, RFC 9110 section 15.5.1).
    static func bad(_ code: String, _ message: String) -> RequestError {
        RequestError(status: 400, code: code, message: message)
    }

    /// 408 (Request Timeout, RFC 9110 section 15.5.9).
    static func late(_ message: String) -> RequestError {
        RequestError(status: 408, code: "timeout", message: message, reason: .timeout)
    }

    /// 503 (Service Unavailable) if a resource is used up for all, 429 (Too Many Requests, RFC 6585 section 4) if the
    /// client has used its share.
    ///
    /// - Parameter what: The resource, as the beginning of a sentence.
    static func busy(_ shortage: ShareLimiter.Shortage, _ reason: Reason, _ what: String, retryAfter: Int)
        -> RequestError
    {
        switch shortage {
        case .total:
            RequestError(
                status: 503, code: "busy", message: "\(what) too many; try again later.", reason: reason,
                retryAfter: retryAfter)
        case .client:
            RequestError(
                status: 429, code: "share", message: "\(what) too many for one client; try again later.",
                reason: .share,
                retryAfter: retryAfter)
        }
    }
}
