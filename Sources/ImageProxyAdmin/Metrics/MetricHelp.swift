/// The descriptions of the metrics that the server records through swift-metrics.
enum MetricHelp {
    /// The gauges whose sum is the number of running requests.
    static let active = ["imgcache_requests_running", "imgcache_requests_waiting"]

    static let texts: [String: String] = [
        "imgcache_spans_total": "Spans of traces, by outcome: sent to the collector, or dropped.",
        "imgcache_requests_total": "Responses, by cache outcome and class of status.",
        "imgcache_request_duration_seconds": "The time from a request's last byte to its response's last.",
        "imgcache_response_bytes_total": "Bytes of content sent to clients.",
        "imgcache_errors_total": "Responses with an error of this service, by its code.",
        "imgcache_requests_refused_total":
            "Requests and connections refused before the look-up in the cache, by reason.",
        "imgcache_requests_abandoned_total": "Clients that disconnected before their response.",
        "imgcache_connections": "Connections of clients.",
        "imgcache_requests_running": "Running requests that are not served from memory.",
        "imgcache_requests_waiting": "Waiting requests.",
    ]
}
