import ImageCache
import ImageProxy

/// The server's totals since it started: ever-growing sums, from which rates are differences.
struct TrafficTotals: Sendable, Equatable {
    var requests = 0
    /// Answered without content from the origin: fresh, stale, confirmed, or shared with a request under way.
    var hits = 0
    /// Fetched and stored.
    var misses = 0
    /// Responses that the cache has no part in: not to be stored, refused, answered by the server itself.
    var passed = 0
    /// Responses 4xx and 5xx, whatever the cache said. Hits, misses and the rest are of the others.
    var clientErrors = 0
    var serverErrors = 0
    /// Bytes of content sent to clients.
    var sentBytes = 0
    /// Bytes of content received from origins.
    var originBytes = 0
    var originRequests = 0
    var resumes = 0
    var resumedBytes = 0
    var latency = DurationHistogram()

    /// The bytes that clients got and the origin did not send.
    var savedBytes: Int { max(0, sentBytes - originBytes) }

    init() {}

    init(_ registry: MetricsRegistry, _ transfers: TransferTotals) {
        for (identity, cell) in registry.all {
            switch (identity.label, cell) {
            case ("imgcache_requests_total", .counter(let counter)):
                add(
                    Int(counter.value), outcome: identity.value(of: "cache").flatMap(CacheOutcome.init),
                    status: identity.value(of: "status"))
            case ("imgcache_response_bytes_total", .counter(let counter)): sentBytes += Int(counter.value)
            case ("imgcache_request_duration_seconds", .timer(let timer)): latency.add(timer.value)
            default: break
            }
        }
        originBytes = transfers.bytesReceived
        originRequests = transfers.attempts
        resumes = transfers.resumes
        resumedBytes = transfers.bytesResumed
    }

    private mutating func add(_ count: Int, outcome: CacheOutcome?, status: String?) {
        requests += count
        switch (status, outcome) {
        case ("4xx", _): clientErrors += count
        case ("5xx", _): serverErrors += count
        case (_, .hit), (_, .stale), (_, .revalidated), (_, .collapsed): hits += count
        case (_, .miss): misses += count
        default: passed += count
        }
    }
}

/// The traffic in one step of time, as rates a second.
struct TrafficPoint: Sendable, Equatable {
    var requests = 0.0
    var hits = 0.0
    var misses = 0.0
    var passed = 0.0
    var clientErrors = 0.0
    var serverErrors = 0.0
    var sent = 0.0
    var origin = 0.0
    var saved = 0.0
    /// Milliseconds; nil when nothing was answered.
    var p50: Double?
    var p95: Double?
    var p99: Double?

    static let nothing = TrafficPoint()

    init() {}

    /// - Parameter seconds: the time between the two, more than 0.
    init(from earlier: TrafficTotals, to later: TrafficTotals, seconds: Double) {
        func rate(_ place: KeyPath<TrafficTotals, Int>) -> Double {
            // A backend's counters may be reset.
            Double(max(0, later[keyPath: place] - earlier[keyPath: place])) / seconds
        }
        requests = rate(\.requests)
        hits = rate(\.hits)
        misses = rate(\.misses)
        passed = rate(\.passed)
        clientErrors = rate(\.clientErrors)
        serverErrors = rate(\.serverErrors)
        sent = rate(\.sentBytes)
        origin = rate(\.originBytes)
        saved = max(0, sent - origin)
        let latency = later.latency.since(earlier.latency)
        p50 = latency.percentile(0.5).map { $0 / 1e6 }
        p95 = latency.percentile(0.95).map { $0 / 1e6 }
        p99 = latency.percentile(0.99).map { $0 / 1e6 }
    }
}
