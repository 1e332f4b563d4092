import Units

/// Measures the rate of a body in windows of about two round trips.
///
/// A window without a byte lasts until bytes arrive: hosts with a rate limit may send the bytes of a second at once, followed by a pause.
struct RateMeter {
    private struct Window {
        let bytes: Int64
        let seconds: Double
    }

    /// The time after which a window ends although no byte has arrived.
    private static let longestSilence = Duration.milliseconds(1500)
    /// The time that the mean rate covers, in seconds.
    private static let memory = 2.0

    /// The length of a window.
    let window: Duration
    /// The time that a new connection needs for its first byte, in seconds.
    let startTime: Double
    /// The time of the last call.
    private(set) var now: MonotonicTime
    private(set) var windowStart: MonotonicTime
    private var received: Int64 = 0
    /// The windows of the last ``memory`` seconds; at least one after the first window.
    private var windows: [Window] = []

    /// - Parameter latency: The time from a request on a new connection to its response: about two round trips.
    init(latency: Duration, at now: MonotonicTime) {
        window = min(max(latency, .milliseconds(150)), .seconds(1))
        startTime = latency.inSeconds
        self.now = now
        windowStart = now
    }

    mutating func received(_ count: Int64) { received += count }

    /// Ends the window if its time is over.
    ///
    /// - Returns: The rate of the window in bytes a second; `nil` if it has not ended.
    mutating func windowEnded(at now: MonotonicTime) -> Double? {
        self.now = now
        let time = now - windowStart
        guard time >= window, received > 0 || time >= Self.longestSilence else { return nil }
        let ended = Window(bytes: received, seconds: time.inSeconds)
        windows.append(ended)
        var seconds = windows.reduce(0) { $0 + $1.seconds }
        while let first = windows.first, windows.count > 1, seconds - first.seconds >= Self.memory {
            seconds -= first.seconds
            windows.removeFirst()
        }
        received = 0
        windowStart = now
        return Double(ended.bytes) / ended.seconds
    }

    /// The mean rate of each of this many connections, in bytes a second; at least 1.
    func usualRate(of connections: Int) -> Double {
        let bytes = windows.reduce(0) { $0 + $1.bytes }
        let seconds = windows.reduce(0) { $0 + $1.seconds }
        return max(1, Double(bytes) / max(seconds, 0.001) / Double(max(1, connections)))
    }
}
