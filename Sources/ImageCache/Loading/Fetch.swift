import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// All fetches of a cache, by key.
typealias FetchPool = SharedTaskPool<FetchKey, Fetch, CachedFile>

/// A fetch in progress as its subscribers see it: its response, the growing body, its progress and priority.
///
/// A fetch answers one resolved request, from the store or from the origin, and all equal requests that arrive meanwhile.
///
/// * **Consumers.** A file (``Download``), an original of an image, and a response that a proxy forwards are subscribers of the same pool
///   (``FetchPool``). A file waits for the fetch's outcome. A response begins with ``start``, as soon as the head is known, and follows
///   ``bodyProgress``.
/// * **Joining.** A subscriber joins a fetch with an equal key (``FetchKey``): the same request, begun in the same epoch of its resource. A
///   response also follows a fetch with another key, such as a thumbnail's original, if the head (``followable``) answers the request too and the
///   terms allow it (``FetchTerms``). A fetch whose response must not be stored is withdrawn from the pool, and serves its first subscriber alone.
/// * **Priority.** The transfer has the highest priority of the requests that wait for it, however they joined (``raise(to:)``).
/// * **Cancellation.** A subscriber's cancellation ends its own wait. The fetch is cancelled when the last subscription is released. The received
///   bytes are kept for the next fetch.
final class Fetch: Sendable {
    private struct Urgency {
        /// The highest priority of the waiting requests.
        var priority = TransferPriority.background
        /// The current transfers, by the sinks of those that run at the same time.
        var transfers: [ObjectIdentifier?: any TransferControl] = [:]
    }

    /// The URL that is shown to users, without userinfo.
    let url: String
    /// The key that the fetch was started under; `nil` if requests cannot join it from the start.
    let key: FetchKey?
    /// The start of the response. Fulfilled only by fetches that were begun for a response.
    let start = Promise<ResponseStart>()
    /// A representation that requests of other kinds may follow while it arrives; `nil` if there is none.
    let followable = Promise<FollowableResponse?>()
    /// For readers that follow the body while it arrives.
    let bodyProgress = BodyProgress()
    /// The generation after this fetch's own invalidation: see ``invalidateOnce(_:)``.
    private let invalidated = Promise<Generation>()
    private let invalidates = Locked(false)
    /// The listeners of all waiting requests to request and response heads.
    let trace = Listeners<String>()
    /// The listeners of all waiting requests to mirror events.
    let mirrorEvents = Listeners<MirrorEvent>()
    private let progress = LatestValue(DownloadProgress())
    private let urgency = Locked(Urgency())

    /// - Parameter request: The request that starts the fetch.
    init(_ url: String, _ key: FetchKey? = nil, for request: FileRequest) {
        self.url = URLText.separatingUserinfo(url).url
        self.key = key
        join(request)
    }

    /// Adds the priority and the listeners of a request that waits for the fetch.
    func join(_ request: FileRequest) {
        raise(to: request.priority)
        trace.add(request.trace)
        mirrorEvents.add(request.mirrorEvents)
    }

    // MARK: Priority

    /// Sets the fetch's current transfer, which was started with this priority.
    ///
    /// - Parameter sink: The sink of one of several transfers at the same time, until ``detach(_:)``.
    func attach(_ transfer: any TransferControl, priority: TransferPriority, of sink: (any BodySink)? = nil) {
        let wanted = urgency.withLock { urgency in
            urgency.transfers[sink.map { ObjectIdentifier($0) }] = transfer
            urgency.priority = max(urgency.priority, priority)
            return urgency.priority
        }
        if wanted > priority { transfer.prioritize(wanted) }
    }

    /// Notes that the transfer of a sink has ended.
    func detach(_ sink: any BodySink) { urgency.withLock { $0.transfers[ObjectIdentifier(sink)] = nil } }

    /// Raises the priority of the transfers to at least this one.
    func raise(to priority: TransferPriority) {
        let transfers = urgency.withLock { urgency -> [any TransferControl] in
            guard priority > urgency.priority else { return [] }
            urgency.priority = priority
            return Array(urgency.transfers.values)
        }
        for transfer in transfers { transfer.prioritize(priority) }
    }

    // MARK: Invalidation

    /// Runs the invalidation by the response to an unsafe request once: when its head is forwarded to a client or when it is stored, whichever is
    /// first. A second invalidation would remove responses that were stored in between.
    ///
    /// - Returns: The generation that the response itself belongs to.
    func invalidateOnce(_ invalidate: () -> Generation) async -> Generation {
        let isFirst = invalidates.withLock { invalidates in
            defer { invalidates = true }
            return !invalidates
        }
        if isFirst { invalidated.fulfill(invalidate()) }
        return await invalidated.valueDespiteCancellation()
    }

    // MARK: Progress

    var latest: DownloadProgress { progress.value }

    /// Updates the progress and notifies the watchers. A slow watcher receives only the newest value.
    func report(_ change: (inout DownloadProgress) -> Void) { progress.update(change) }

    /// Ends the progress and the growing body. Called once, before the fetch's outcome is published.
    ///
    /// - Parameter file: The outcome; `nil` for an error.
    func end(with file: CachedFile? = nil) {
        if let file {
            report { progress in
                progress.phase = .finished
                (progress.received, progress.total) = (file.size, file.size)
            }
        }
        followable.fulfill(nil)
        bodyProgress.finish()
        progress.end()
    }

    func watch() -> AsyncStream<DownloadProgress> { progress.watch() }

    /// Runs the fetch's work, and ends the fetch.
    func run(
        _ work: () async throws(ImageCacheError) -> CachedFile
    ) async throws(ImageCacheError) -> CachedFile {
        do throws(ImageCacheError) {
            let file = try await work()
            end(with: file)
            return file
        } catch {
            end()
            throw error.with(url: url)
        }
    }
}
