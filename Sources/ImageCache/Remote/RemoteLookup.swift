import ConcurrencyPrimitives
import DiskStore

/// A look-up in the remote store for a request, before the origin.
struct RemoteLookup {
    let resolved: ResolvedRequest
    let generation: Generation
    let task: FetchPool.SharedTask
    let consumer: Fetcher.Consumer

    /// The number of parts that are known to be in the remote store.
    var partsFound: Int { task.context.partsFound }
    /// True if an earlier look-up was made for the same request.
    var hasLooked: Bool { task.context.shared.withLock { $0.hasLooked } }
}

/// The result of a look-up in the remote store.
struct RemoteLookupResult {
    /// The number of the entry that was stored from the remote store.
    var entry: Int64?
    /// The state for a request to the origin, with a lease if one was acquired.
    var fill = FillContext()
    /// True if the store was contacted.
    var wasAsked = false
    /// True if parts of the body were stored from the remote store.
    var hasParts = false

    /// Combines the result with an earlier one, as several attempts are one look-up.
    func after(_ former: RemoteLookupResult) -> RemoteLookupResult {
        var finding = self
        finding.wasAsked = wasAsked || former.wasAsked
        finding.hasParts = hasParts || former.hasParts
        return finding
    }
}
