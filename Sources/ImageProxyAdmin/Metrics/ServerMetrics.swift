import ConcurrencyPrimitives
package import HTTPServer
import ImageProxy
package import Metrics
import Units

/// The metrics of the data listener, recorded through swift-metrics: for `/metrics`, and for an application's own
/// backend.
///
/// * `imgcache_requests_total{cache,status}`: responses by cache outcome and class of status (`2xx` …)
/// * `imgcache_request_duration_seconds{cache}`: from the request's last byte to the response's last
/// * `imgcache_response_bytes_total`: bytes of content sent
/// * `imgcache_errors_total{code}`: responses with an error of this service, by its code
/// * `imgcache_requests_refused_total{reason}`: see ``RequestError/Reason``
/// * `imgcache_requests_abandoned_total`: clients that left before their response began
/// * `imgcache_spans_total{outcome}`: spans of traces, `sent` or `dropped`
/// * `imgcache_connections`, `imgcache_requests_running`, `imgcache_requests_waiting`: present values
package struct ServerMetrics: Sendable {
    /// The counters of an outcome, by class of status, and its timer.
    private struct Row {
        let requests: [Counter]
        let duration: Timer
    }

    private let rows: [CacheOutcome: Row]
    private let bytes: Counter
    private let abandoned: Counter
    private let sentSpans, droppedSpans: Counter
    /// The counters by error code, each created with its first response.
    private let errors = Locked<[String: Counter]>([:])
    private let factory: any MetricsFactory
    /// One counter for each reason, in the order of the cases.
    private let refused: [Counter]
    private let connections: Gauge
    private let running: Gauge
    private let waiting: Gauge

    private static let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"]

    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
        rows = Dictionary(
            uniqueKeysWithValues: CacheOutcome.allCases.map { outcome in
                let requests = Self.classes.map {
                    Counter(
                        label: "imgcache_requests_total", dimensions: [("cache", outcome.rawValue), ("status", $0)],
                        factory: factory)
                }
                let duration = Timer(
                    label: "imgcache_request_duration_seconds", dimensions: [("cache", outcome.rawValue)],
                    factory: factory)
                return (outcome, Row(requests: requests, duration: duration))
            })
        bytes = Counter(label: "imgcache_response_bytes_total", factory: factory)
        func spans(_ outcome: String) -> Counter {
            Counter(label: "imgcache_spans_total", dimensions: [("outcome", outcome)], factory: factory)
        }
        (sentSpans, droppedSpans) = (spans("sent"), spans("dropped"))
        abandoned = Counter(label: "imgcache_requests_abandoned_total", factory: factory)
        refused = RequestError.Reason.allCases.map {
            Counter(
                label: "imgcache_requests_refused_total", dimensions: [("reason", $0.rawValue)], factory: factory)
        }
        connections = Gauge(label: "imgcache_connections", factory: factory)
        running = Gauge(label: "imgcache_requests_running", factory: factory)
        waiting = Gauge(label: "imgcache_requests_waiting", factory: factory)
    }

    /// Counts a request, or a connection, that is refused before the cache or the origin is involved.
    package func refused(_ reason: RequestError.Reason) {
        guard let index = RequestError.Reason.allCases.firstIndex(of: reason) else { return }
        refused[index].increment()
    }

    /// Counts spans of traces that the collector took, or that were dropped.
    package func countSpans(sent: Int, dropped: Int) {
        sentSpans.increment(by: sent)
        droppedSpans.increment(by: dropped)
    }

    /// Records the current numbers.
    package func record(connections count: Int, requests: (running: Int, waiting: Int)) {
        connections.record(count)
        running.record(requests.running)
        waiting.record(requests.waiting)
    }

    /// Counts a request that has ended.
    package func ended(_ record: RequestRecord) {
        guard record.status > 0 else { return abandoned.increment() }
        if let code = record.error { error(code).increment() }
        ended(
            status: record.status, outcome: record.outcome, bytesSent: record.bytesSent, duration: record.duration)
    }

    private func error(_ code: String) -> Counter {
        errors.withLock { errors in
            if let counter = errors[code] { return counter }
            let counter = Counter(label: "imgcache_errors_total", dimensions: [("code", code)], factory: factory)
            errors[code] = counter
            return counter
        }
    }

    /// Counts a request that has ended with a response.
    package func ended(status: Int, outcome: String?, bytesSent: Int64, duration: Duration) {
        if let row = rows[outcome.flatMap { CacheOutcome(rawValue: $0) } ?? .none] {
            row.requests[min(max(status / 100, 1), 5) - 1].increment()
            row.duration.recordNanoseconds(duration.nanoseconds)
        }
        if bytesSent > 0 { bytes.increment(by: bytesSent) }
    }
}
