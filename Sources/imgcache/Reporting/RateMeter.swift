/// The average rate over the last few seconds.
///
/// A stall lowers the rate as time passes. There is no rate for the first second.
struct RateMeter: Sendable {
    private static let window = 5.0
    private static let least = 1.0

    /// One sample may be older than the window; later ones are not.
    private var samples: [(time: Double, bytes: Int64)] = []

    /// Records `bytes` received in total at `time`, in seconds of any monotonic clock. Neither ever decreases.
    mutating func record(bytes: Int64, at time: Double) {
        samples.append((time, bytes))
        while samples.count > 2, samples[1].time <= time - Self.window { samples.removeFirst() }
    }

    /// The rate at `now`, or `nil` if it was measured for less than a second.
    func bytesPerSecond(at now: Double) -> Double? {
        guard let last = samples.last else { return nil }
        let start = samples.last { $0.time <= now - Self.window } ?? samples[0]
        guard now - start.time >= Self.least else { return nil }
        return Double(last.bytes - start.bytes) / (now - start.time)
    }
}
