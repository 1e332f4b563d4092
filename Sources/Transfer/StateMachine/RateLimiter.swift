import Units

/// Limits the rate of a transfer: returns the time at which the next bytes may be taken.
///
/// libcurl's own limit (`CURLOPT_MAX_RECV_SPEED_LARGE`) is checked only after libcurl has emptied the socket's buffer, which a fast origin fills
/// with megabytes, and it is reset with each attempt. This limiter counts every piece, over all attempts.
struct RateLimiter {
    /// The limit in bytes a second.
    let rate: Int64
    /// The time from which on the next piece may be taken.
    private(set) var next: MonotonicTime

    init(rate: Int64, now: MonotonicTime) {
        self.rate = max(1, rate)
        next = now
    }

    /// Returns true if a piece may be taken now.
    func isOpen(at now: MonotonicTime) -> Bool { next <= now }

    /// Counts a piece that was taken. Unused time of up to a tenth of a second may be caught up with.
    mutating func take(_ count: Int, now: MonotonicTime) {
        let nanoseconds = Double(count) / Double(rate) * 1e9
        let earliest = now + .milliseconds(-100)
        next = (next < earliest ? earliest : next) + .nanoseconds(Int64(min(nanoseconds, 1e17)))
    }
}
