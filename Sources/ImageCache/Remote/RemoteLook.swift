import DiskStore

extension Fetcher {
    /// A look at the remote store for a request, before the origin is asked.
    struct RemoteLook {
        let resolved: ResolvedRequest
        let conditional: ConditionalRequest
        let generation: Generation
        let task: FetchPool.SharedTask
        let consumer: Consumer
    }

    /// The outcome of a look at the remote store.
    struct RemoteFinding {
        /// The number of the entry that was stored from there.
        var entry: Int64?
        /// The state in which the origin is to be asked: under a lease, if one was got.
        var fill = RemoteFill()
    }
}
