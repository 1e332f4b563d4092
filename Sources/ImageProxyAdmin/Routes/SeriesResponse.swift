import FoundationEssentials

/// `GET /api/series?step=1|60&since=T`: metrics over time, one value for each step, as rates a second; latencies in
/// milliseconds, null for steps without responses. All values are null before the server's start.
struct SeriesResponse: Encodable {
    /// The start of the first step, in seconds since 1970.
    var start: Int
    /// Seconds.
    var step: Int
    /// The number of values of each series.
    var length: Int
    /// The greatest number of values.
    var capacity: Int
    var series: Series

    struct Series: Encodable {
        var requests, hits, ready, misses, passed, clientErrors, serverErrors, sent, origin, saved: [Double?]
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
            requests: values(\.requests), hits: values(\.hits), ready: values(\.ready), misses: values(\.misses),
            passed: values(\.passed), clientErrors: values(\.clientErrors), serverErrors: values(\.serverErrors),
            sent: values(\.sent),
            origin: values(\.origin), saved: values(\.saved),
            p50: latencies(\.p50), p95: latencies(\.p95), p99: latencies(\.p99))
    }
}
