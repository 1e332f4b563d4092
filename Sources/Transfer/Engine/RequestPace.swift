import Units

/// Spreads the requests to one host evenly: none begins sooner than a part of a second after the one before.
struct RequestPace {
    private let interval: Duration
    /// The time from which on the next request may begin.
    private(set) var next: MonotonicTime

    /// - Parameter rate: Requests a second, above 0.
    init(rate: Double, at now: MonotonicTime) {
        interval = .nanoseconds(Int64(min(1e9 / max(rate, 1e-6), 1e15)))
        next = now
    }

    /// Counts a request. One that is sent before its time, as that of a redirect is, delays those after it.
    mutating func begin(at now: MonotonicTime) { next = max(next, now) + interval }
}
