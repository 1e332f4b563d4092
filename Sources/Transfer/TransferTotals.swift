import Synchronization

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

    public init() {}
}

/// Counts written on the engine's thread and read on any other.
final class TransferCounts: Sendable {
    let attempts = Atomic(0)
    let bytesReceived = Atomic(0)
    let resumes = Atomic(0)
    let bytesResumed = Atomic(0)

    var totals: TransferTotals {
        var totals = TransferTotals()
        totals.attempts = attempts.load(ordering: .relaxed)
        totals.bytesReceived = bytesReceived.load(ordering: .relaxed)
        totals.resumes = resumes.load(ordering: .relaxed)
        totals.bytesResumed = bytesResumed.load(ordering: .relaxed)
        return totals
    }
}
