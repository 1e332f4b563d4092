import ConcurrencyPrimitives

/// The reason for which a request is refused before anything is asked of the cache or the origin.
package struct RequestError: Error, Hashable {
    /// The kinds of refusals that are counted apart.
    package enum Reason: String, CaseIterable {
        /// It is no valid request, or too large.
        case malformed
        /// It did not come in time, or too slowly.
        case timeout
        /// There is no room in the queue.
        case queue
        /// The contents of too many requests are held.
        case contents
        /// There are too many connections.
        case connections
        /// The client has its share of whatever it asks for.
        case share
    }

    /// The status to answer with: 400, 408, 413, 414, 417, 429, 431, 501, 503 or 505.
    package var status: Int
    /// A short name for programs and logs, such as `bad-chunk`.
    package var code: String
    /// One sentence for people.
    package var message: String
    package var reason = Reason.malformed
    /// Seconds after which the client may try again.
    package var retryAfter: Int?

    /// 400 (Bad Request, RFC 9110 section 15.5.1).
    static func bad(_ code: String, _ message: String) -> RequestError {
        RequestError(status: 400, code: code, message: message)
    }

    /// 408 (Request Timeout, RFC 9110 section 15.5.9).
    static func late(_ message: String) -> RequestError {
        RequestError(status: 408, code: "timeout", message: message, reason: .timeout)
    }

    /// 503 (Service Unavailable) when something is used up for all, 429 (Too Many Requests, RFC 6585 section 4) when the client has
    /// its share of it.
    ///
    /// - Parameter what: what there is too much of, as the beginning of a sentence.
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
