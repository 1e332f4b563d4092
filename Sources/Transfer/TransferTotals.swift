package import Units

/// Counts of an engine's transfers since its creation.
public struct TransferTotals: Sendable, Equatable {
    /// The number of attempts: requests to origins, including retries and validations, without redirects.
    public var attempts = 0
    /// The number of content bytes received.
    public var bytesReceived = 0
    /// The number of attempts that resumed a partial body.
    public var resumes = 0
    /// The number of held bytes that were not requested again.
    public var bytesResumed = 0
    /// The number of responses by their status, redirects included.
    public var responses: [Int: Int] = [:]
    /// The number of requests that failed before their response was complete, by reason. Cancelled transfers do not count.
    public var failures: [TransferError.Code: Int] = [:]
    /// The times from requests to the first bytes of their responses.
    package var latencies = DurationHistogram()

    public init() {}

    mutating func noteResponse(status: Int, latency: Duration?) {
        responses[status, default: 0] += 1
        if let latency { latencies.note(latency) }
    }

    mutating func noteFailure(_ code: TransferError.Code) { failures[code, default: 0] += 1 }
}
