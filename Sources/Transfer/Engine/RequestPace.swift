import Units

/// Spreads the requests to one host evenly: each begins at least `1/rate` seconds after the previous one.
struct RequestPace {
    private let interval: Duration
    /// The earliest time of the next request.
    private(set) var next: MonotonicTime

    /// - Parameter rate: Requests a second, above 0.
    init(rate: Double, at now: MonotonicTime) {
        interval = .nanoseconds(Int64(min(1e9 / max(rate, 1e-6), 1e15)))
        next = now
    }

    /// Counts a request. A request that is sent early, for example after a redirect, delays later ones.
    mutating func begin(at now: MonotonicTime) { next = max(next, now) + interval }
}
