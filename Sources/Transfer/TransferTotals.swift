import ConcurrencyPrimitives
import Synchronization
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
}

/// Counts written on the engine's thread and read on any other.
final class TransferCounts: Sendable {
    let attempts = Atomic(0)
    let bytesReceived = Atomic(0)
    let resumes = Atomic(0)
    let bytesResumed = Atomic(0)
    /// The parts of the totals that are counted once a request.
    private let requests = Locked(TransferTotals())

    var totals: TransferTotals {
        var totals = requests.withLock { $0 }
        totals.attempts = attempts.load(ordering: .relaxed)
        totals.bytesReceived = bytesReceived.load(ordering: .relaxed)
        totals.resumes = resumes.load(ordering: .relaxed)
        totals.bytesResumed = bytesResumed.load(ordering: .relaxed)
        return totals
    }

    func noteResponse(status: Int, latency: Duration?) {
        requests.withLock { requests in
            requests.responses[status, default: 0] += 1
            if let latency { requests.latencies.note(latency) }
        }
    }

    func noteFailure(_ code: TransferError.Code) { requests.withLock { $0.failures[code, default: 0] += 1 } }
}
