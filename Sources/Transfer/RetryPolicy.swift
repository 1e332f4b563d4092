/// The number of retries of a failed attempt, and the pauses between them.
///
/// An attempt is repeated after connection failures, cuts, time-outs, stalls, and the statuses 408, 425, 429, 500, 502, 503 and 504; not after
/// another 4xx or a certificate error. An attempt that extends the body beyond its previous maximum resets the count. Only requests with a safe
/// method (RFC 9110 section 9.2.1) are repeated: the outcome of another failed request is unknown, and the caller decides.
public struct RetryPolicy: Sendable, Hashable {
    /// The number of retries without progress; default 5. With 0, nothing is retried.
    public var maxRetries = 5
    /// The number of these retries that may follow failures to resolve the host or connect to it before any response; default 1, after at most one
    /// second. An unreachable host is thus reported soon. A host that was reached before is retried as after any other failure.
    public var maxUnreachableRetries = 1
    /// The time after the start of the first attempt within which retries may start; default none.
    public var maxTotalTime: Duration?
    /// The longest pause before the first retry; default 1 s. It doubles with each further retry.
    public var baseDelay: Duration = .seconds(1)
    /// The longest pause before any retry; default 60 s.
    public var maxDelay: Duration = .seconds(60)
    /// The longest `Retry-After` (RFC 9110 section 10.2.3) that is honoured; default 5 minutes. After a longer one
    /// there is no further attempt.
    public var retryAfterLimit: Duration = .seconds(300)

    public init() {}

    /// The pause before retry number `retry` (counted from 1): exponential back-off with full jitter, that is, a
    /// uniformly random part of the maximum.
    ///
    /// - Parameter random: A number in 0 ..< 1.
    public func delay(beforeRetry retry: Int, random: Double) -> Duration {
        let doublings = min(max(retry - 1, 0), 30)
        let whole = min(baseDelay * (1 << doublings), maxDelay)
        return whole * random
    }
}
