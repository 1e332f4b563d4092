import Units

/// Decides how many transfers with one host run concurrently, from the results of earlier ones.
///
/// The limit begins low. While transfers wait, each response raises it by two, so that it triples with each round trip, similar to TCP's slow
/// start. This ends when a round is not faster than the one before it with fewer transfers, or when responses take much longer to begin. A
/// ``Refusal`` halves the limit, which then recovers slowly. Requests that share one connection (HTTP/2) cost the host little: for those, the
/// number of streams is the limit from the first response on.
struct HostConcurrency {
    struct Limits: Equatable {
        /// The first limit.
        var initial = 16
        /// The greatest number of connections.
        var connections = 16
        /// The greatest number of requests on one connection.
        var streams = 100
    }

    enum Refusal {
        /// 429 (Too Many Requests, RFC 6585 section 4): the limit may fall to one.
        case tooManyRequests
        /// 503 (Service Unavailable, RFC 9110 section 15.6.4): it may concern only one resource, so the limit does not fall below a quarter of the
        /// initial one.
        case unavailable

        init?(status: Int) {
            switch status {
            case 429: self = .tooManyRequests
            case 503: self = .unavailable
            default: return nil
            }
        }
    }

    /// A response that has ended.
    struct Sample {
        /// The number of body bytes.
        var bytes: Int64 = 0
        /// The time from the request to the response's first byte; `nil` if there was none.
        var latency: Duration?
        /// The refusal by the host, if any.
        var refusal: Refusal?
        /// True if its connection is multiplexed.
        var isMultiplexed = false
        /// True if other transfers with the host wait.
        var isContended = true
    }

    /// A round of responses, about as many as the limit.
    private struct Round {
        var start: MonotonicTime
        var responses = 0
        var bytes: Int64 = 0
        var limit: Int
    }

    private enum Phase {
        case growing
        /// The limit grows by one with each round until the next refusal.
        case recovering
        case settled
    }

    /// The difference, in seconds, up to which a latency counts as usual.
    private static let noise = 0.01
    /// The shortest duration of a round, in seconds.
    private static let shortestRound = 0.1
    /// The factor by which a round with more transfers must be faster.
    private static let gain = 1.05

    private let limits: Limits
    /// The number of transfers that may run at once.
    private(set) var limit: Int
    private var phase = Phase.growing
    private var isMultiplexed = false
    private var round: Round?
    private var previous: (rate: Double, limit: Int)?
    /// The latencies, in seconds.
    private var shortestLatency = Double.infinity
    private var usualLatency = 0.0
    private var lastCut: MonotonicTime?

    init(_ limits: Limits) {
        self.limits = limits
        limit = max(1, min(limits.initial, limits.connections))
    }

    private var maximum: Int { max(1, isMultiplexed ? limits.streams : limits.connections) }

    /// Adapts the limit to a response.
    ///
    /// - Returns: The number of transfers that may run at once from now on.
    mutating func ended(_ sample: Sample, at now: MonotonicTime) -> Int {
        if let refusal = sample.refusal {
            cut(refusal, at: now)
            return limit
        }
        if sample.isMultiplexed != isMultiplexed, phase != .recovering {
            isMultiplexed = sample.isMultiplexed
            limit = isMultiplexed ? maximum : min(limit, maximum)
            (round, previous) = (nil, nil)
        }
        note(sample.latency)
        guard sample.isContended, !isMultiplexed || phase == .recovering else {
            round = nil
            return limit
        }
        count(sample, at: now)
        guard phase == .growing else { return limit }
        if isSlow {
            // The last step was too large.
            limit = max(limit / 2, min(limit, limits.initial))
            phase = .settled
        } else {
            limit = min(limit + 2, maximum)
        }
        return limit
    }

    // MARK: Latency

    private mutating func note(_ latency: Duration?) {
        guard let latency else { return }
        let seconds = Double(latency.nanoseconds) / 1e9
        shortestLatency = min(shortestLatency, seconds)
        usualLatency += (seconds - usualLatency) / (usualLatency == 0 ? 1 : 8)
    }

    /// True if responses begin so much later than the first ones that requests probably wait for each other.
    private var isSlow: Bool { usualLatency > 1.5 * shortestLatency + Self.noise }

    // MARK: Rounds

    private mutating func count(_ sample: Sample, at now: MonotonicTime) {
        var round = self.round ?? Round(start: now, limit: limit)
        round.responses += 1
        round.bytes += sample.bytes
        let seconds = Double((now - round.start).nanoseconds) / 1e9
        // A round that has just grown first makes its connections, which takes about as long as a response.
        guard seconds >= max(Self.shortestRound, 3 * usualLatency), round.responses >= round.limit else {
            self.round = round
            return
        }
        self.round = nil
        ended(round, seconds: seconds)
    }

    private mutating func ended(_ round: Round, seconds: Double) {
        let rate = Double(round.responses) / seconds
        defer { previous = (rate, round.limit) }
        switch phase {
        case .growing:
            guard let previous, round.limit > previous.limit, rate < previous.rate * Self.gain else { return }
            // The additional transfers have not increased the rate.
            limit = previous.limit
            phase = .settled
        case .recovering: limit = min(limit + 1, maximum)
        case .settled:
            guard usualLatency > 4 * shortestLatency + Self.noise else { return }
            limit = max(limit - limit / 8, min(limit, limits.initial))
        }
    }

    // MARK: Refusals

    /// Halves the limit, once for refusals at about the same time.
    private mutating func cut(_ refusal: Refusal, at now: MonotonicTime) {
        if let lastCut, now - lastCut < .seconds(max(1, 2 * usualLatency)) { return }
        lastCut = now
        let least = refusal == .unavailable ? max(1, limits.initial / 4) : 1
        limit = max(min(limit, least), limit / 2)
        phase = .recovering
        round = nil
    }
}
