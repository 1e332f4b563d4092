import DiskStore
import HTTPCaching
import HTTPTypes
import Transfer

/// One request to the origin: its consumer, the generation of its resource, and the stored responses that it may use.
struct OriginRequest: Sendable {
    let resolved: ResolvedRequest
    let conditional: ConditionalRequest
    /// The generation in which the request begins.
    let generation: Generation
    let task: FetchPool.SharedTask
    let consumer: Fetcher.Consumer
    /// The key's lock, if it is held. Released as soon as no other request can use the response.
    let lock: ByteLock?
    /// The tier's part in the fetch, if there is a tier.
    let shared: (any TierFetch)?
    /// False after a stored body that was to replace the response turned out to be damaged.
    var mayReuseBodies = true
    /// False after a body that was joined by its digest alone was wrong.
    var joinsByDigest = true
    var fetch: Fetch { task.context }

    /// Begins a body in the store.
    func storing(under key: EntryKey, by fetcher: Fetcher) throws(ImageCacheError) -> ResponseSink.Storing {
        let writer = try fetcher.beginBody(key, generation)
        let download = DownloadSink(
            resolved: resolved, rules: fetcher.rules, writer: writer, fetch: fetch,
            sharing: shared?.sharing(under: key, generation.epoch),
            joinsByDigest: joinsByDigest)
        return .init(download: download, writer: writer)
    }

    /// Returns true if a stale response is served instead of one with this status. For files this is decided after the transfer.
    func mayServeStale(after status: HTTPResponse.Status, by fetcher: Fetcher) -> Bool {
        conditional.staleCandidate(
            for: resolved.cacheRequest, after: status, by: fetcher.rules, at: fetcher.now()) != nil
    }

    /// Returns true if a response with this status may replace the stored ones.
    func mayStore(_ status: HTTPResponse.Status, by fetcher: Fetcher) -> Bool {
        fetcher.rules.mayTakePlace(of: conditional.candidates.map(\.record.response), status)
    }
}
