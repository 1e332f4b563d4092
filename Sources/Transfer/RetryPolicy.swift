/// How often, and after which pause, a failed attempt is repeated.
///
/// An attempt is repeated after connection failures, cuts, time-outs, stalls, and the statuses 408, 425, 429, 500, 502,
/// 503 and 504; never after another 4xx nor after a certificate error. An attempt that brought the body further than
/// it had ever been resets the count.
public struct RetryPolicy: Sendable, Hashable {
    /// Attempts after the first without progress; default 5; 0: none.
    public var maxRetries = 5
    /// Of these, at most this many while no response has come and the host's name has no address, or nothing accepts
    /// connections there; default 1, after at most one second. Somebody who waits is told so at once; a host that was reached
    /// and then goes away is waited for as after any other failure.
    public var maxUnreachableRetries = 1
    /// No retry begins later than this after the first attempt began; default none.
    public var maxTotalTime: Duration?
    /// The longest pause before the first retry, doubled with each further one; default 1 s.
    public var baseDelay: Duration = .seconds(1)
    /// The longest pause before any retry; default 60 s.
    public var maxDelay: Duration = .seconds(60)
    /// The longest `Retry-After` (RFC 9110 section 10.2.3) that is waited for; default 5 minutes. A server that asks
    /// for more gets no further attempt.
    public var retryAfterLimit: Duration = .seconds(300)

    public init() {}

    /// The pause before retry number `retry` (counted from 1): exponential back-off with full jitter, that is, a
    /// uniformly random part of the whole.
    ///
    /// - Parameter random: in 0 ..< 1.
    public func delay(beforeRetry retry: Int, random: Double) -> Duration {
        let doublings = min(max(retry - 1, 0), 30)
        let whole = min(baseDelay * (1 << doublings), maxDelay)
        return whole * random
    }
}
