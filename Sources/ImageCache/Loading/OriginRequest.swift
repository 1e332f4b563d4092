import DiskStore
import HTTPCaching
import HTTPTypes
import Transfer

/// One request to the origin: for which consumer, in which generation of its resource, and with which stored responses at hand.
struct OriginRequest: Sendable {
    let resolved: ResolvedRequest
    var conditional: ConditionalRequest
    /// The one that the request begins in.
    var generation: Generation
    let task: FetchPool.SharedTask
    let consumer: Fetcher.Consumer
    /// The key's, if it is held. Released as soon as nobody else can use the response.
    let lock: KeyLock?
    /// How often blocks of a file that somebody else changed on disk before the commit are still fetched again.
    var repairs = 3
    /// Bytes that crossed the network for this request before.
    var received: Int64 = 0

    var fetch: Fetch { task.context }

    /// The place of a body in the store.
    func storing(under key: EntryKey, by fetcher: Fetcher) throws(ImageCacheError) -> ResponseSink.Storing {
        let writer = try fetcher.beginBody(key, generation)
        return .init(
            download: DownloadSink(resolved: resolved, rules: fetcher.rules, writer: writer, fetch: fetch),
            writer: writer)
    }

    /// Whether a stale response is better than one with this status. A file's consumer decides when the transfer has ended.
    func mayServeStale(after status: HTTPResponse.Status, by fetcher: Fetcher) -> Bool {
        conditional.staleCandidate(for: resolved, after: status, by: fetcher) != nil
    }

    /// Whether a response with this status may be stored beside what is stored.
    func mayStore(_ status: HTTPResponse.Status, by fetcher: Fetcher) -> Bool {
        fetcher.rules.mayTakePlace(of: conditional.candidates.map(\.record.response), status)
    }
}
