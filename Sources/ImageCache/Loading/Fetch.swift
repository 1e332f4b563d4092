import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import HTTPTypes
import Transfer

/// All fetches of a cache, by what they bring.
typealias FetchPool = SharedTaskPool<FetchKey, Fetch, CachedFile>

/// One fetch under way, as its subscribers see it: its response, the growing body, its progress and urgency.
///
/// A fetch is one answer to one resolved request, from the store or from the origin, for all who ask for the same thing meanwhile.
///
/// * **Consumers.** A file (``Download``), an original of an image, and a response that a proxy sends on are subscribers of the same
///   pool (``FetchPool``). A file waits for the fetch's outcome. A response begins with ``start``, as soon as the head is known, and
///   follows ``growth``.
/// * **Joining.** A subscriber joins a fetch with an equal key (``FetchKey``): the same request, begun in the same epoch of
///   its resource. A response also follows a fetch with another key, such as a thumbnail's original, when its head (``followable``)
///   answers the request too and its terms allow it (``FetchTerms``). A fetch whose response must not be stored is withdrawn from the
///   pool: it is its first subscriber's alone.
/// * **Urgency.** The transfer is as urgent as the most urgent of those who wait for it, whatever they joined by
///   (``raise(to:)``).
/// * **Cancellation.** A subscriber's cancellation ends its own wait. The fetch is cancelled when the last subscription is released;
///   what arrived is kept for the next one.
final class Fetch: Sendable {
    private struct Urgency {
        /// The highest that anybody wants.
        var priority = TransferPriority.background
        var transfer: (any TransferControl)?
    }

    /// The URL, as it is shown.
    let url: String
    /// The key that it was started under; nil if no request may join it from the start.
    let key: FetchKey?
    /// The response, as soon as there is something to respond with. Given by fetches that are begun for a response.
    let start = Promise<ResponseStart>()
    /// A representation that requests of other kinds may follow while it arrives; `nil`: there is none.
    let followable = Promise<FollowableResponse?>()
    /// For readers that follow the body while it arrives.
    let growth = BodyGrowth()
    /// The generation after this fetch's own invalidation: see ``invalidateOnce(_:)``.
    private let invalidated = Promise<Generation>()
    private let invalidates = Locked(false)
    /// The parts of a large body that other machines share.
    let shared = Locked(SharedParts())
    /// Receives the heads, for all who ask for the same.
    let trace = Listeners<String>()
    /// Receives the events among the mirrors.
    let mirrorEvents = Listeners<MirrorEvent>()
    private let progress = LatestValue(DownloadProgress())
    private let urgency = Locked(Urgency())

    /// - Parameter request: The one that it is started for.
    init(_ url: String, _ key: FetchKey? = nil, for request: FileRequest) {
        self.url = url
        self.key = key
        join(request)
    }

    /// Notes the urgency and the listeners of a request that waits for it.
    func join(_ request: FileRequest) {
        raise(to: request.priority)
        trace.add(request.trace)
        mirrorEvents.add(request.mirrorEvents)
    }

    // MARK: Priority

    /// The transfer that runs for it now, which was begun with that priority.
    func attach(_ transfer: any TransferControl, priority: TransferPriority) {
        let wanted = urgency.withLock { urgency in
            urgency.transfer = transfer
            urgency.priority = max(urgency.priority, priority)
            return urgency.priority
        }
        if wanted > priority { transfer.prioritize(wanted) }
    }

    /// Sees to it that the transfer is at least so urgent: somebody has joined.
    func raise(to priority: TransferPriority) {
        let transfer = urgency.withLock { urgency -> (any TransferControl)? in
            guard priority > urgency.priority else { return nil }
            urgency.priority = priority
            return urgency.transfer
        }
        transfer?.prioritize(priority)
    }

    // MARK: Invalidation

    /// The response to an unsafe request invalidates once, by whoever is first to act on it: the one who gives its head to a
    /// client, or the one who stores it at its end. A second invalidation would undo what was stored in between.
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

    /// Records progress and tells the watchers; a watcher that is busy sees only the newest value.
    func report(_ change: (inout DownloadProgress) -> Void) { progress.update(change) }

    /// Nothing more comes: called once, before the fetch's outcome is known.
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
        growth.finish()
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
