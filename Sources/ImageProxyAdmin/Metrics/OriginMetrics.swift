import ImageProxy

/// The metrics of the origins' health, for `/metrics`.
struct OriginMetrics {
    let gates: [OriginGate]

    func write(to text: inout PrometheusText) {
        let origins = gates.map { ($0.name, $0.health.snapshot) }
        func add(_ name: String, _ kind: PrometheusText.Kind, _ value: (OriginHealth.Snapshot) -> Int, help: String) {
            text.add(name, kind, by: "origin", origins.map { ($0.0, Int64(value($0.1))) }, help: help)
        }
        add(
            "imgcache_origin_available", .gauge, { $0.isAvailable ? 1 : 0 },
            help: "1 while any client may ask the origin, 0 while all are refused after failures.")
        add(
            "imgcache_origin_failed_transfers_total", .counter, \.failures,
            help: "Transfers without a response of the origin, or with the status 502, 503 or 504.")
        add(
            "imgcache_origin_breaker_opened_total", .counter, \.openings,
            help: "Times at which clients began to be refused after failures.")
        add(
            "imgcache_origin_skipped_total", .counter, \.refused,
            help: "Transfers that were refused after failures of the origin.")
        text.add(
            "imgcache_origin_transfers_total", .counter,
            origins.flatMap { name, health in
                OriginTraffic.Outcome.allCases.map {
                    ([("origin", name), ("outcome", $0.rawValue)], Int64(health.traffic.counts[$0] ?? 0))
                }
            }, help: "Transfers with an origin, by the class of the response's status, or failed.")
        text.add(
            "imgcache_origin_transfer_seconds", origins.map { ([("origin", $0.0)], $0.1.traffic.latencies) },
            help: "The time from a request to the head of the origin's response, by origin.")
    }
}
