import Synchronization

/// What an engine has moved since it was made.
public struct TransferTotals: Sendable, Equatable {
    /// Attempts: requests to origins, retries and validations included, redirects not counted apart.
    public var attempts = 0
    /// Bytes of content that were received.
    public var bytesReceived = 0
    /// Attempts that continued what was there already.
    public var resumes = 0
    /// Bytes that were there already and were not asked for again.
    public var bytesResumed = 0

    public init() {}
}

/// Counts on the engine's thread, read on any other.
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
