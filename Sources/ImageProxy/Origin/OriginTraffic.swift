import HTTPTypes
import Transfer
package import Units

/// The transfers with an origin: totals since the start, and the last minute.
package struct OriginTraffic: Sendable, Equatable {
    /// The outcomes that are counted apart: the class of the status, or no response.
    package enum Outcome: String, Sendable, CaseIterable {
        case information = "1xx"
        case success = "2xx"
        case redirection = "3xx"
        case clientError = "4xx"
        case serverError = "5xx"
        case failed

        /// Returns nil for an outcome that says nothing of the origin.
        init?(_ outcome: GateOutcome) {
            switch outcome {
            case .unknown: return nil
            case .failed: self = .failed
            case .responded(let status):
                switch status.kind {
                case .informational: self = .information
                case .successful: self = .success
                case .redirection: self = .redirection
                case .clientError: self = .clientError
                case .serverError: self = .serverError
                case .invalid: return nil
                }
            }
        }

        fileprivate var isError: Bool { self == .serverError || self == .failed }
    }

    /// The last minute.
    package struct Recent: Sendable, Equatable {
        /// A second, over the minute, or the time since the start if that is shorter.
        package var requestsPerSecond = 0.0
        /// The share of transfers without a response, or with a status 5xx; nil without transfers.
        package var errorRatio: Double?
        /// The 95th percentile of the time from a request to its response's head; nil without responses.
        package var p95: Duration?
    }

    /// Ten seconds of transfers.
    private struct Window: Equatable {
        var number = Int.min
        var requests = 0
        var errors = 0
        var latencies = DurationHistogram()
    }

    private static let length = Duration.seconds(10)

    package private(set) var counts: [Outcome: Int] = [:]
    /// The times from a request to its response's head.
    package private(set) var latencies = DurationHistogram()
    /// The current window and the six before it, each at the remainder of its number.
    private var windows = [Window](repeating: Window(), count: 7)

    package init() {}

    /// - Parameters:
    ///   - duration: The time from the request to the outcome.
    ///   - age: The time since the start.
    mutating func note(_ outcome: GateOutcome, after duration: Duration, at age: Duration) {
        guard let outcome = Outcome(outcome) else { return }
        counts[outcome, default: 0] += 1
        let number = Int(age / Self.length)
        let place = number % windows.count
        if windows[place].number != number { windows[place] = Window(number: number) }
        windows[place].requests += 1
        if outcome.isError { windows[place].errors += 1 }
        guard outcome != .failed else { return }
        latencies.note(duration)
        windows[place].latencies.note(duration)
    }

    func recent(at age: Duration) -> Recent {
        let number = Int(age / Self.length)
        var recent = Recent()
        var (requests, errors, latencies) = (0, 0, DurationHistogram())
        for window in windows where window.number > number - windows.count && window.number <= number {
            requests += window.requests
            errors += window.errors
            latencies.add(window.latencies)
        }
        // The windows before the current one are whole.
        let begun = Self.length * max(0, number - windows.count + 1)
        recent.requestsPerSecond = Double(requests) / max(1, (age - begun) / .seconds(1))
        recent.errorRatio = requests > 0 ? Double(errors) / Double(requests) : nil
        recent.p95 = latencies.percentile(0.95).map { .microseconds($0 / 1000) }
        return recent
    }
}
