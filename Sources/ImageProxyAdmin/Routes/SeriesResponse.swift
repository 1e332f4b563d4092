import FoundationEssentials

/// `GET /api/series?step=1|60&since=T`: what happened over time, one value a step, as rates a second; latencies in
/// milliseconds, null where nothing was answered. Everything is null before the server started.
struct SeriesResponse: Encodable {
    /// The beginning of the first step, in seconds since 1970.
    var start: Int
    /// Seconds.
    var step: Int
    /// Values of each series.
    var length: Int
    /// The most that there are.
    var capacity: Int
    var series: Series

    struct Series: Encodable {
        var requests, hits, misses, passed, clientErrors, serverErrors, sent, origin, saved: [Double?]
        var p50, p95, p99: [Double?]
    }

    init(_ history: TrafficHistory, _ step: TrafficHistory.Step, since: Int?, now: Date) {
        let (start, points) = history.slice(step, since: since, now: now)
        func values(_ place: KeyPath<TrafficPoint, Double>) -> [Double?] {
            points.map { $0.map { rounded($0[keyPath: place]) } }
        }
        func latencies(_ place: KeyPath<TrafficPoint, Double?>) -> [Double?] {
            points.map { $0?[keyPath: place].map(rounded) }
        }
        self.start = start
        self.step = step.rawValue
        length = points.count
        capacity = step.capacity
        series = Series(
            requests: values(\.requests), hits: values(\.hits), misses: values(\.misses), passed: values(\.passed),
            clientErrors: values(\.clientErrors), serverErrors: values(\.serverErrors), sent: values(\.sent),
            origin: values(\.origin), saved: values(\.saved),
            p50: latencies(\.p50), p95: latencies(\.p95), p99: latencies(\.p99))
    }
}
