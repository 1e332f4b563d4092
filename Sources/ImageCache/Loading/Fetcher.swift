import Digests
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Locking
import Transfer

/// The way of one request: key, store, decision, lock, transfer, commit.
struct Loader: Sendable {
    let store: DiskStore
    let rules: CacheRules
    let now: @Sendable () -> Date
    /// How origins are reached.
    var transport: any HTTPTransport
    let revalidatesInBackground: Bool
    let maxVariants: Int
    let sweeper: Sweeper?
    let answers: ReadyAnswers
    /// All fetches under way, whoever consumes them.
    let pool = FetchPool()
    /// Those of them that ask an origin.
    let fetches = RunningFetches()
    let executor: BlockingExecutor
    let warnings: StoreWarnings

    init(store: DiskStore, configuration: ImageCache.Configuration, executor: BlockingExecutor) {
        self.executor = executor
        self.store = store
        warnings = StoreWarnings(logger: configuration.logger)
        rules = configuration.rules
        now = configuration.now
        answers = ReadyAnswers(
            limits: configuration.answers, rules: configuration.rules, now: configuration.now, store: store)
        maxVariants = configuration.maxVariants
        revalidatesInBackground = configuration.revalidatesInBackground
        sweeper = configuration.sweepsInBackground ? Sweeper(store: store, executor: executor) : nil
        transport = configuration.transport ?? TransferEngine(configuration: .init(configuration))
    }

    // MARK: Fetching

    /// The consumer that a fetch is begun for.
    enum Consumer: Sendable {
        case file
        /// A response. It waits so long for another process, and is published under the key when it turns out to be for all.
        case response(KeyWaiting, publishing: FetchKey?)

        /// How long the fetch waits for another one that has its key.
        var waiting: KeyWaiting {
            switch self {
            case .file: .untilStalled
            case .response(let waiting, _): waiting
            }
        }
    }

    /// Joins the fetch that brings the file for a request, or starts one.
    func subscribe(to request: FileRequest) -> FetchPool.Subscription {
        let key = FileKey(request, in: store.generation(of: ImageKey.Original(request).url).epoch)
        if request.duplicates == .replace {
            pool.cancel { fetch in
                if case .file(let other) = fetch.key { other.isEqual(to: key) } else { false }
            }
        }
        let subscription = pool.subscribe(to: .file(key), Fetch(key.url, .file(key)), on: executor) {
            (task) async throws(ImageCacheError) in
            defer { task.context.end() }
            do throws(ImageCacheError) {
                return try await load(try ResolvedRequest(request), task, for: .file)
            } catch {
                throw error.with(url: request.url)
            }
        }
        subscription.context.raise(to: request.priority)
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
        let fetch = task.context
        let began = now()
        var generation = store.generation(of: resolved.url)
        var conditional: ConditionalRequest
        switch try plan(resolved) {
        case .serve(let file): return file
        case .ask(let request): conditional = request
        }

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
            // The other one may have brought what we came for, whatever our policy says of older entries.
            if let file = try storedSince(began, resolved, conditional.status) { return file }
            switch try plan(resolved) {
            case .serve(let file): return file
            case .ask(let request): conditional = request
            }
        }
        defer { lock?.release() }
        let fetching = fetches.begin(resolved, task, generation.epoch)
        defer { fetches.end(resolved.key, fetching) }
        switch consumer {
        case .file: return try await fetchFile(resolved, conditional, generation, fetch)
        case .response(_, let publishing):
            return try await fetchResponse(
                resolved, conditional, generation, task, lock: lock, publishing: publishing)
        }
    }

    private func tryLock(_ resolved: ResolvedRequest) throws(ImageCacheError) -> KeyLock? {
        do throws(StoreError) { return try store.tryLock(resolved.key) } catch { throw ImageCacheError(error) }
    }

    func close() async {
        await sweeper?.stop()
        await transport.shutDown()
        store.close()
    }

    // MARK: The store's answer

    /// The next step after a look into the store.
    enum Plan {
        case serve(CachedFile)
        case ask(ConditionalRequest)
    }

    /// A stored response that may answer.
    struct Candidate {
        var entry: StoredEntry
        var record: ResponseRecord
        /// The resource's when the entry was read.
        var generation: Generation
        /// All that was made of an original that is gone, the entry first, if it stands in for that (``FileRequest``).
        var made: [MadeImage.Stored] = []

        /// `nil` for metadata that is damaged.
        init?(_ entry: StoredEntry, _ generation: Generation) {
            guard var record = ResponseRecord(decoding: entry.metadata) else { return nil }
            record.response.extent = .complete(length: entry.size)
            self.entry = entry
            self.record = record
            self.generation = generation
        }

        /// `nil` when there is nothing.
        fileprivate init?(madeOfGoneOriginal made: [MadeImage.Stored], _ generation: Generation) {
            // The one that knows most of the original's response.
            let newestFirst = made.sorted {
                $0.record.response.response.responseTime > $1.record.response.response.responseTime
            }
            guard let newest = newestFirst.first else { return nil }
            entry = newest.entry
            record = newest.record.response
            self.generation = generation
            self.made = newestFirst
        }
    }

    /// What is stored under the request's key: of many variants only those that may be the request's.
    private func entries(for resolved: ResolvedRequest) throws(StoreError) -> [StoredEntry] {
        try entries(resolved.key, for: resolved)
    }

    private func entries(_ key: EntryKey, for resolved: ResolvedRequest) throws(StoreError) -> [StoredEntry] {
        try store.entries(for: key) { CacheRules.variantKey($0, of: resolved.cacheRequest.fields) }
    }

    /// What is everybody's and may answer a request with credentials (RFC 9111 section 3.5).
    private func candidatesForEverybody(_ resolved: ResolvedRequest, _ generation: Generation) throws(StoreError)
        -> [Candidate]
    {
        guard rules.mode == .shared, let key = resolved.keyForEverybody else { return [] }
        return try entries(key, for: resolved).compactMap { Candidate($0, generation) }
            .filter { rules.isSharedDespiteAuthorization($0.record.response) }
    }

    /// Whether anything is stored under the request's key.
    func hasVariants(_ resolved: ResolvedRequest) throws(StoreError) -> Bool { try !entries(for: resolved).isEmpty }

    func candidates(for resolved: ResolvedRequest) throws(ImageCacheError) -> [Candidate] {
        let generation = store.generation(of: resolved.url)
        do throws(StoreError) {
            var candidates = try entries(for: resolved).compactMap { Candidate($0, generation) }
            candidates += try candidatesForEverybody(resolved, generation)
            if let gone = resolved.request.goneOriginal {
                let made = try store.entries(for: resolved.key.ofMadeImages).compactMap { MadeImage.Stored($0) }
                let standIn = Candidate(
                    madeOfGoneOriginal: made.filter { $0.record.original == gone }, generation)
                if let standIn { candidates.append(standIn) }
            }
            // A proxy stores errors too; nobody gets one for a file.
            return resolved.request.transfer.passesEveryStatus
                ? candidates : candidates.filter { $0.record.response.status.kind == .successful }
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// The stored file for a request, if it may be served as it is without a word to the origin.
    func stored(_ request: FileRequest) throws(ImageCacheError) -> CachedFile? {
        let resolved = try ResolvedRequest(request)
        let candidates = try candidates(for: resolved)
        let decision = rules.decide(resolved.cacheRequest, stored: candidates.map(\.record.response), now: now())
        guard case .serve(let served) = decision else { return nil }
        return try open(candidates[served.candidate], for: resolved, served, decision)
    }

    private func plan(_ resolved: ResolvedRequest) throws(ImageCacheError) -> Plan {
        var candidates = try candidates(for: resolved)
        while true {
            let decision = rules.decide(resolved.cacheRequest, stored: candidates.map(\.record.response), now: now())
            switch decision {
            case .serve(let served):
                let candidate = candidates[served.candidate]
                if let file = try open(candidate, for: resolved, served, decision) { return .serve(file) }
                // The body was gone or damaged: a miss.
                candidates.remove(at: served.candidate)
            case .serveAndRevalidate(let served, let validation):
                guard revalidatesInBackground, !resolved.request.awaitsRevalidation else {
                    return .ask(ConditionalRequest(validation, candidates))
                }
                let candidate = candidates[served.candidate]
                guard let file = try open(candidate, for: resolved, served, decision) else {
                    candidates.remove(at: served.candidate)
                    continue
                }
                revalidateInBackground(resolved)
                return .serve(file)
            case .validate(let validation): return .ask(ConditionalRequest(validation, candidates))
            case .forward(let forward): return .ask(ConditionalRequest(forward, candidates))
            case .fail:
                throw Self.notCached(resolved)
            }
        }
    }

    static func notCached(_ resolved: ResolvedRequest) -> ImageCacheError {
        ImageCacheError(.notCached, url: resolved.request.url, message: "not in the cache, and offline")
    }

    /// A file that somebody stored while we waited for them. Received after `began`, and not after now: what lies in the future
    /// was received before the clock was set back.
    ///
    /// - Parameter status: how the cache came to ask the origin, had the other not done so.
    func storedSince(_ began: Date, _ resolved: ResolvedRequest, _ status: CacheStatus) throws(ImageCacheError)
        -> CachedFile?
    {
        let now = now()
        let fresh = try candidates(for: resolved).filter {
            $0.record.response.responseTime >= began
                && !CacheRules.clockWentBack(since: $0.record.response.responseTime, now: now)
        }
        guard !fresh.isEmpty else { return nil }
        var request = resolved.cacheRequest
        request.policy = .returnCacheDataDontLoad
        let decision = rules.decide(request, stored: fresh.map(\.record.response), now: now)
        guard case .serve(let served) = decision else { return nil }
        var status = status
        status.collapsed = true
        status.stored = true
        status.timeToLive = served.remainingLifetime
        return try open(fresh[served.candidate], for: resolved, as: .disk, status)
    }

    func revalidateInBackground(_ resolved: ResolvedRequest) {
        Task.detached(executorPreference: executor, priority: .background) {
            guard let lock = try? store.tryLock(resolved.key) else { return }  // somebody is at it
            defer { lock.release() }
            var request = resolved
            request.cacheRequest.policy = .reloadRevalidatingCacheData
            let generation = store.generation(of: resolved.url)
            guard case .ask(let conditional) = try? plan(request) else { return }
            _ = try? await fetchFile(request, conditional, generation, Fetch(resolved.url))
        }
    }

    /// Opens a stored body; `nil` when it is gone or damaged, or has not the SHA-256 that the request names.
    func open(
        _ candidate: Candidate, for resolved: ResolvedRequest, as source: CachedFile.Source, _ status: CacheStatus,
        bytesTransferred: Int64 = 0
    ) throws(ImageCacheError) -> CachedFile? {
        let body: StoredBody
        do throws(StoreError) {
            guard let stored = try store.open(candidate.entry) else { return nil }
            body = stored
        } catch {
            throw ImageCacheError(error)
        }
        // The digest is the original's.
        if let expected = resolved.request.sha256, candidate.made.isEmpty {
            let digest = try BodyDigest.digest(ofFile: body.descriptor, size: body.size)
            guard digest.hexadecimal == expected.lowercased() else { return nil }
        }
        do throws(StoreError) {
            try store.touch(candidate.entry)
            return CachedFile(
                source: source, bytesTransferred: bytesTransferred, resumedFrom: 0, finalURL: candidate.record.finalURL,
                response: candidate.record.response, isStored: true, cacheStatus: status, body: body,
                generation: candidate.generation)
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// Opens what a decision serves.
    func open(
        _ candidate: Candidate, for resolved: ResolvedRequest, _ served: ServedResponse, _ decision: CacheDecision
    ) throws(ImageCacheError) -> CachedFile? {
        try open(candidate, for: resolved, as: served.isStale ? .stale : .disk, decision.cacheStatus())
    }
}

extension TransferEngine.Configuration {
    fileprivate init(_ configuration: ImageCache.Configuration) {
        self.init()
        maxTransfers = configuration.maxTransfers
        maxPerHost = configuration.maxTransfersPerHost
        maxPerClient = configuration.maxTransfersPerClient
        addressPolicy = configuration.addressPolicy
        signatures = configuration.rules.signatures
        now = configuration.now
    }
}
