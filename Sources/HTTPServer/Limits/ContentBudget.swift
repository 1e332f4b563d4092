import ConcurrencyPrimitives

/// The memory for the contents of requests, in total and for each client: each is held until its request has been
/// handled.
final class ContentBudget: Sendable {
    private let bytes: Locked<ShareLimiter>

    init(_ limits: ShareLimiter.Limits) { bytes = Locked(ShareLimiter(limits)) }

    func take(_ count: Int, for client: String) throws(ShareLimiter.Shortage) {
        try bytes.withLock { bytes throws(ShareLimiter.Shortage) in try bytes.take(count, for: client) }
    }

    func release(_ count: Int, for client: String) {
        guard count > 0 else { return }
        bytes.withLock { $0.release(count, for: client) }
    }
}
