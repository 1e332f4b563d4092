import Units

/// Holds a transfer to a rate: tells when the next bytes may be taken.
///
/// libcurl's own limit (`CURLOPT_MAX_RECV_SPEED_LARGE`) looks at what has arrived only after it has emptied the socket's
/// buffer, and a fast origin fills that with megabytes; and it begins anew with every attempt. This one is paid for
/// every piece, over all attempts.
struct RateLimiter {
    /// Bytes a second.
    let rate: Int64
    /// From here on the next piece may be taken.
    private(set) var next: MonotonicTime

    init(rate: Int64, now: MonotonicTime) {
        self.rate = max(1, rate)
        next = now
    }

    /// True when a piece may be taken now.
    func isOpen(at now: MonotonicTime) -> Bool { next <= now }

    /// Notes a piece that was taken. What a pause left unused may be caught up with for a tenth of a second, no more.
    mutating func take(_ count: Int, now: MonotonicTime) {
        let nanoseconds = Double(count) / Double(rate) * 1e9
        let earliest = now + .milliseconds(-100)
        next = (next < earliest ? earliest : next) + .nanoseconds(Int64(min(nanoseconds, 1e17)))
    }
}
