/// The descriptions of the metrics that the server records through swift-metrics.
enum MetricHelp {
    /// The gauges whose sum is the number of running requests.
    static let active = ["imgcache_requests_running", "imgcache_requests_waiting"]

    static let texts: [String: String] = [
        "imgcache_requests_total": "Answers, by cache outcome and class of status.",
        "imgcache_request_duration_seconds": "From a request's last byte to its answer's last.",
        "imgcache_response_bytes_total": "Bytes of content sent to clients.",
        "imgcache_requests_refused_total": "Requests that were not let in: no room in the queue, or malformed.",
        "imgcache_requests_abandoned_total": "Clients that left before their answer began.",
        "imgcache_connections": "Clients' connections.",
        "imgcache_requests_running": "Requests under way that memory did not answer at once.",
        "imgcache_requests_waiting": "Requests that wait for their turn.",
    ]
}
