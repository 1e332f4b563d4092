import ConcurrencyPrimitives
import DiskStore

extension Fetcher {
    /// A look at the remote store for a request, before the origin is asked.
    struct RemoteLook {
        let resolved: ResolvedRequest
        let generation: Generation
        let task: FetchPool.SharedTask
        let consumer: Consumer

        /// The number of parts that are known to be in the remote store.
        var partsFound: Int { task.context.partsFound }
        /// True if the store was looked into before, for the same request.
        var hasLooked: Bool { task.context.shared.withLock { $0.hasLooked } }
    }

    /// The outcome of a look at the remote store.
    struct RemoteFinding {
        /// The number of the entry that was stored from there.
        var entry: Int64?
        /// The state in which the origin is to be asked: under a lease, if one was got.
        var fill = RemoteFill()
        /// The store was asked.
        var wasAsked = false
        /// Parts of the body came from there.
        var hasParts = false

        /// The same with what was seen before: several looks are one look-up.
        func after(_ former: RemoteFinding) -> RemoteFinding {
            var finding = self
            finding.wasAsked = wasAsked || former.wasAsked
            finding.hasParts = hasParts || former.hasParts
            return finding
        }
    }
}
