import ConcurrencyPrimitives
import Digests
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Transfer

/// The way of one request: key, store, decision, lock, transfer, commit.
struct Fetcher: Sendable {
    let store: DiskStore
    let rules: CacheRules
    let now: @Sendable () -> Date
    /// The transport to the origins.
    var transport: any HTTPTransport
    /// The rates at which origins served mirrored requests.
    let originRates = OriginRates()
    /// The store that is shared with other machines.
    var remote: RemoteCache?
    let revalidatesInBackground: Bool
    let maxVariants: Int
    let sweeper: Sweeper?
    let hotResponses: HotResponses
    /// All fetches under way, whoever consumes them.
    let pool = FetchPool()
    /// Those of them that ask an origin.
    let fetches = RunningFetches()
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
        remote = configuration.remote.map {
            RemoteCache(
                $0, store: store, executor: executor, now: configuration.now, logger: configuration.logger)
        }
        transport = SegmentingTransport(
            GatedTransport(
                configuration.transport ?? TransferEngine(configuration: .init(configuration, store: store))))
    }

    // MARK: Fetching

    /// The consumer that a fetch is begun for.
    enum Consumer: Sendable {
        case file
        /// A response. It waits so long for another process, and is published under the key when it turns out to be for all.
        case response(KeyWaiting, publishing: FetchKey?)
        /// One client, to whom the origin's response is passed on. It answers nobody else, but for a POST's that says it answers
        /// a later GET (RFC 9110 section 9.3.3).
        case oneClient

        var isFile: Bool { if case .file = self { true } else { false } }
        var isOneClient: Bool { if case .oneClient = self { true } else { false } }

        /// The time to wait for another fetch that holds the key.
        var waiting: KeyWaiting {
            switch self {
            case .file: .untilStalled
            case .response(let waiting, _): waiting
            case .oneClient: .none
            }
        }
    }

    /// Joins the fetch that brings the file for a request, or starts one. Each unsafe request is a fetch of its own.
    func subscribe(to request: FileRequest) -> FetchPool.Subscription {
        var key: FetchKey?
        if request.isSafe {
            let file = FileKey(request, in: store.generation(of: ResourceKey(request, by: rules).url).epoch)
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
                try await load(try ResolvedRequest(request, by: rules), task, for: .file)
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

    /// The store's answer, or the origin's, who is asked by one caller at a time for one key, as far as locks can tell and
    /// waiting is worth it.
    func load(
        _ resolved: ResolvedRequest, _ task: FetchPool.SharedTask, for consumer: Consumer
    ) async throws(ImageCacheError) -> CachedFile {
        guard resolved.cacheRequest.isAnsweredFromStore else {
            return try await write(resolved, task, for: consumer)
        }
        let fetch = task.context
        let began = now()
        var generation = store.generation(of: resolved.url)
        var conditional: ConditionalRequest
        switch try plan(resolved) {
        case .serve(let file): return file
        case .ask(let request): conditional = request
        }
        if Task.isCancelled { throw .cancelled }

        var lock = try tryLock(resolved)
        if lock == nil, consumer.waiting != .none {
            fetch.report { $0.phase = .waitingForOther }
            fetches.raise(resolved.key, to: resolved.request.priority)
            if case .response = consumer, let other = fetches.running(resolved.key, in: generation.epoch),
                let file = try await follow(other, resolved, conditional, fetch)
            {
                return file
            }
            lock = try await self.lock(resolved, consumer.waiting)
            generation = store.generation(of: resolved.url)
            let wait = KeyWait(began: began, known: conditional.candidates, status: conditional.status)
            switch try plan(resolved, after: wait) {
            case .serve(let file): return file
            case .ask(let request): conditional = request
            }
        }
        defer { lock?.release() }
        let fetching = fetches.begin(resolved, task, generation.epoch)
        defer { fetches.end(resolved.key, fetching) }
        let found = try await lookInRemote(
            RemoteLook(
                resolved: resolved, conditional: conditional, generation: generation, task: task, consumer: consumer))
        var (served, isHit) = (CachedFile?.none, found.hasParts)
        if let entry = found.entry {
            switch try plan(resolved) {
            case .serve(let file):
                isHit = file.body.entry.id == entry
                served = isHit ? file.fromRemote : file
            case .ask(let request):
                isHit = request.candidates.contains { $0.entry.id == entry }
                conditional = request
            }
        }
        if found.wasAsked { remote?.noteLookUp(isHit) }
        if let served { return served }
        return try await askOrigin(
            OriginRequest(
                resolved: resolved, conditional: conditional, generation: generation, task: task, consumer: consumer,
                lock: lock), filling: found.fill)
    }

    /// The next step of a fetch after a look-up.
    private enum Plan {
        case serve(CachedFile)
        case ask(ConditionalRequest)
    }

    private func plan(_ resolved: ResolvedRequest, after wait: KeyWait? = nil) throws(ImageCacheError) -> Plan {
        switch try lookUp(resolved, after: wait) {
        case .hit(let file, let needsRevalidation):
            if needsRevalidation { revalidateInBackground(resolved) }
            return .serve(file)
        case .miss(let request): return .ask(request)
        case .notCached: throw Self.notCached(resolved)
        }
    }

    /// Writes a request through to the origin (RFC 9111 section 4): it waits for no other request, and answers no other.
    private func write(
        _ resolved: ResolvedRequest, _ task: FetchPool.SharedTask, for consumer: Consumer
    ) async throws(ImageCacheError) -> CachedFile {
        let generation = store.generation(of: resolved.url)
        switch try plan(resolved) {
        case .serve(let file): return file
        case .ask(let conditional):
            return try await askOrigin(
                OriginRequest(
                    resolved: resolved, conditional: conditional, generation: generation, task: task,
                    consumer: consumer, lock: nil))
        }
    }

    private func tryLock(_ resolved: ResolvedRequest) throws(ImageCacheError) -> KeyLock? {
        do throws(StoreError) { return try store.tryLock(resolved.key) } catch { throw ImageCacheError(error) }
    }

    func close(uploadingFor time: Duration) async {
        await remote?.close(within: time)
        await sweeper?.stop()
        await transport.shutDown()
        store.close()
    }

    /// Asks the origin whether what was just served stale is still right, unless somebody is at it.
    func revalidateInBackground(_ resolved: ResolvedRequest) {
        let request = resolved.with(.reloadRevalidatingCacheData)
        let subscription = pool.subscribe(to: nil, Fetch(resolved.url, for: request.request), on: executor) {
            (task) async throws(ImageCacheError) in
            try await task.context.run { () async throws(ImageCacheError) in
                guard let lock = try tryLock(request) else { throw .cancelled }
                defer { lock.release() }
                let generation = store.generation(of: request.url)
                switch try plan(request) {
                case .serve(let file): return file
                case .ask(let conditional):
                    return try await askOrigin(
                        OriginRequest(
                            resolved: request, conditional: conditional, generation: generation, task: task,
                            consumer: .file, lock: lock), filling: RemoteFill(knowing: remote?.knownPosition))
                }
            }
        }
        subscription.keepUntilEnd()
    }
}

extension TransferEngine.Configuration {
    fileprivate init(_ configuration: DownloadCache.Configuration, store: DiskStore) {
        self.init()
        maxTransfers = configuration.maxTransfers
        maxPerHost = configuration.maxTransfersPerHost
        adaptsToHosts = configuration.adaptsToHosts
        initialPerHost = configuration.initialTransfersPerHost
        maxStreams = configuration.maxStreamsPerHost
        maxIdleConnections = configuration.maxIdleConnections
        maxPerClient = configuration.maxTransfersPerClient
        maxRequestsPerSecond = configuration.maxRequestsPerSecond
        if configuration.sharesHostLimit {
            sharedHostLimit = HostPlaces(store: store, count: configuration.maxTransfersPerHost)
        }
        addressPolicy = configuration.addressPolicy
        signatures = configuration.rules.resourceParameters
        now = configuration.now
    }
}
