/// Measures the rate of a body in windows of about two round trips.
struct RateMeter {
    /// The length of a window.
    let window: Duration
    /// The seconds that a new connection needs for its first byte.
    let startTime: Double
    /// The time of the last call.
    private(set) var now: MonotonicTime
    private var windowStart: MonotonicTime
    private var received: Int64 = 0
    /// Bytes a second, newer windows counting as much as all older ones; nil before the first window has ended.
    private var mean: Double?

    /// - Parameter latency: The time from a request on a new connection to its response: about two round trips.
    init(latency: Duration, at now: MonotonicTime) {
        window = min(max(latency, .milliseconds(150)), .seconds(1))
        startTime = latency.seconds
        self.now = now
        windowStart = now
    }

    mutating func received(_ count: Int64) { received += count }

    /// Ends the window, if its time is over.
    ///
    /// - Returns: Its rate in bytes a second.
    mutating func windowEnded(at now: MonotonicTime) -> Double? {
        self.now = now
        let time = now - windowStart
        guard time >= window else { return nil }
        let rate = Double(received) / time.seconds
        mean = mean.map { ($0 + rate) / 2 } ?? rate
        received = 0
        windowStart = now
        return rate
    }

    /// The mean rate of one of so many connections, in bytes a second; at least 1.
    func usualRate(of connections: Int) -> Double { max(1, (mean ?? 0) / Double(max(1, connections))) }
}

extension Duration {
    /// Seconds with their fraction.
    var seconds: Double { Double(nanoseconds) / 1e9 }
}
