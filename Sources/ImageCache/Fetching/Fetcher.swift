import ConcurrencyPrimitives
import Digests
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Transfer

/// The parts of a cache that its fetches share. A ``FetchDriver`` performs each fetch.
final class Fetcher: Sendable {
    let store: DiskStore
    let rules: CacheRules
    let now: @Sendable () -> Date
    let sources: Sources
    /// The store that is shared with other machines.
    let tier: (any SharedTier)?
    let revalidatesInBackground: Bool
    let maxVariants: Int
    let sweeper: Sweeper?
    let hotResponses: HotResponses
    /// All fetches in progress, for every consumer.
    let pool = FetchPool()
    /// The fetches that ask an origin.
    let fetches = RunningFetches()
    /// The bodies that are read by blocks.
    let rangeFetches = RangeFetches()
    let openPartials = Locked(OpenPartials())
    let executor: BlockingExecutor
    let warnings: StoreWarnings
    /// The memory for originals of images that the store cannot take.
    let unstoredMemory = UnstoredBodyMemory(limit: 128 << 20)

    init(store: DiskStore, configuration: DownloadCache.Configuration, executor: BlockingExecutor) {
        self.executor = executor
        self.store = store
        warnings = StoreWarnings(logger: configuration.logger)
        rules = configuration.rules
        now = configuration.now
        hotResponses = HotResponses(
            limits: configuration.hotResponses, rules: configuration.rules, now: configuration.now, store: store)
        maxVariants = configuration.maxVariants
        revalidatesInBackground = configuration.revalidatesInBackground
        sweeper = configuration.sweepsInBackground ? Sweeper(store: store, executor: executor) : nil
        tier = configuration.tier?.opened(over: store, for: configuration, on: executor)
        sources = Sources(configuration, store: store, executor: executor)
    }

    // MARK: Fetching

    /// The consumer that a fetch is begun for.
    enum Consumer: Sendable {
        case file
        /// A response. The fetch waits for another one as `KeyWaiting` says, and is published under the key when its response may answer other
        /// requests.
        case response(KeyWaiting, publishing: FetchKey?)
        /// One client, to which the origin's response is forwarded. The response answers no other request, except for a response to a POST that
        /// says that it answers a later GET (RFC 9110 section 9.3.3).
        case passthrough

        var isFile: Bool { if case .file = self { true } else { false } }
        var isPassthrough: Bool { if case .passthrough = self { true } else { false } }

        /// The time to wait for another fetch that holds the key.
        var waiting: KeyWaiting {
            switch self {
            case .file: .untilStalled
            case .response(let waiting, _): waiting
            case .passthrough: .none
            }
        }
    }

    /// Joins the fetch of a request's file, or starts one. Each unsafe request has a separate fetch.
    func subscribe(to request: FileRequest) -> FetchPool.Subscription {
        var key: FetchKey?
        let lookedUp = request.lookedUp
        if request.isSafe, request.transport == nil {
            let url = lookedUp?.resolved.url ?? ResourceKey(request, by: rules).url
            let file = FileKey(request, in: store.generation(of: url).epoch)
            key = .file(file)
            if request.duplicates == .replace {
                pool.cancel { fetch in
                    if case .file(let other) = fetch.key { other.isEqual(to: file) } else { false }
                }
            }
        }
        let subscription = pool.subscribe(to: key, Fetch(request.url, key, for: request), on: executor) {
            (task) async throws(ImageCacheError) in
            try await task.context.run { () async throws(ImageCacheError) in
                let resolved =
                    if let lookedUp { lookedUp.resolved } else { try ResolvedRequest(request, by: self.rules) }
                return try await self.performFetch(resolved, task, for: .file, knowing: lookedUp)
            }
        }
        if !subscription.isFirst { subscription.context.join(request) }
        return subscription
    }

    /// The file for a request; see ``subscribe(to:)``.
    func file(for request: FileRequest) async throws(ImageCacheError) -> CachedFile {
        let subscription = subscribe(to: request)
        return try await subscription.value().sharing(!subscription.isFirst)
    }

    /// Performs a fetch: returns the store's response or the origin's.
    func performFetch(
        _ resolved: ResolvedRequest, _ task: FetchPool.SharedTask, for consumer: Consumer,
        knowing lookedUp: LookedUp? = nil
    ) async throws(ImageCacheError) -> CachedFile {
        let mode: FetchMachine.Mode = resolved.cacheRequest.isAnsweredFromStore ? .shared : .write
        var driver = FetchDriver(resolved, task, for: consumer, mode, knowing: lookedUp, by: self)
        return try await driver.run()
    }

    /// Cancels fetches for all callers that wait for them.
    func cancel(where isMeant: (Fetch) -> Bool) {
        pool.cancel(where: isMeant)
        rangeFetches.cancel(where: isMeant)
    }

    func close(uploadingFor time: Duration) async {
        await tier?.close(within: time)
        await sweeper?.stop()
        await sources.shutDown()
        await rangeFetches.waitUntilClosed()
        openPartials.withLock { $0.removeAll() }
        store.close()
    }

    /// Revalidates a stale response in the background, unless another fetch has its key.
    func revalidateInBackground(_ resolved: ResolvedRequest) {
        fetchInBackground(resolved.with(.reloadRevalidatingCacheData), .revalidation)
    }

    private func fetchInBackground(_ request: ResolvedRequest, _ mode: FetchMachine.Mode) {
        let subscription = pool.subscribe(to: nil, Fetch(request.url, for: request.request), on: executor) {
            (task) async throws(ImageCacheError) in
            try await task.context.run { () async throws(ImageCacheError) in
                var driver = FetchDriver(request, task, for: .file, mode, by: self)
                return try await driver.run()
            }
        }
        subscription.keepUntilEnd()
    }

    /// Fetches the missing bytes of a body in the background, after ranges of it were read, unless the process ends after its responses.
    func completeInBackground(_ resolved: ResolvedRequest) {
        guard revalidatesInBackground else { return }
        var request = resolved.request
        request.priority = .background
        request.transfer.forwardsErrorResponses = false
        if let whole = try? ResolvedRequest(request, by: rules) { fetchInBackground(whole, .shared) }
    }

    /// Raises the priority of a fetch of an equal request, if there is one, to this request's priority.
    func raise(_ request: FileRequest) {
        guard request.priority > .background, let resolved = try? ResolvedRequest(request, by: rules) else { return }
        fetches.raise(resolved.key, to: request.priority)
    }

    // MARK: Locks

    /// The key's lock; `nil` if another fetch has it.
    func tryLock(_ resolved: ResolvedRequest) throws(ImageCacheError) -> ByteLock? {
        do throws(StoreError) { return try store.tryLock(resolved.key) } catch { throw ImageCacheError(error) }
    }

    /// The key's lock; `nil` if the wait has ended without it.
    func lock(_ resolved: ResolvedRequest, _ waiting: KeyWaiting) async throws(ImageCacheError) -> ByteLock? {
        var patience = KeyPatience(waiting, resolved.request.transfer, now: .now)
        do {
            return try await store.lock(resolved.key) { patience.lasts(at: .now, progress: $0) }
        } catch let error as StoreError {
            throw ImageCacheError(error)
        } catch {
            throw ImageCacheError(.cancelled, url: resolved.request.url, message: "cancelled", cause: error)
        }
    }
}
