import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import ImageCache
import Logging
import RemoteStore
import Transfer

/// The store shared with other machines. It is read after a miss on disk, and written in the background.
///
/// No failure of the store fails a request. A circuit breaker stops the use of a store that fails or is slow.
final class RemoteCache: SharedTier {
    /// A pending change of the store.
    enum Change: Sendable {
        case upload(CachedFile, url: String, EntryKey, FillContext)
        case image(RemoteImage, Generation)
        case delete
        case parts(PartChange)
    }

    struct State {
        var breaker: CircuitBreaker
        /// The object whose read failed or was slow last. While the circuit is open, reading it again shows whether the store has
        /// recovered.
        var suspect: String?
        var reads = PendingReads()
        var notices = RemoteNotices()
        /// The store's handling of conditional uploads; nil if it is not yet known.
        var conditions: RemoteProbe.Outcome?
        var watch: Task<Void, Never>?
        /// Keys whose last responses could not be shared.
        var unshareable = UncacheableKeys()
        var queue: RemoteQueue<Change>
        var counts = RemoteStatistics()
        var invalidations = PendingInvalidations()
        /// The task that publishes the invalidations.
        var publisher: Task<Void, Never>?
        /// True once nothing is published any more.
        var isPublishingOver = false
        var feed = InvalidationFeed()
        var scopes = InvalidatedScopes()
        var idle: [Promise<Bool>] = []
        var workers: [Int: Task<Void, Never>] = [:]
        var lastWorker = 0
    }

    let configuration: RemoteStoreConfiguration
    let sharing: SharingRules
    /// For requests with a waiting caller.
    let tier: S3Tier
    /// For background changes, so that long uploads do not delay reads.
    let uploadTier: S3Tier
    /// The slots of requests with a waiting caller, and of reads of parts, which take longer. The transport has the same number of slots,
    /// so that no request waits there without a time limit.
    let reads: AsyncSemaphore
    let parts = AsyncSemaphore(RemoteStoreConfiguration.maxPartReads)
    private let transports: [any HTTPTransport]
    private let traffic = RemoteTraffic()
    let store: DiskStore
    let executor: BlockingExecutor
    let now: @Sendable () -> Date
    let logger: Logger
    let state: Locked<State>

    init(
        _ configuration: RemoteStoreConfiguration, rules: CacheRules, store: DiskStore, executor: BlockingExecutor,
        now: @escaping @Sendable () -> Date, logger: Logger
    ) {
        var configuration = configuration
        configuration.maxBodySize = min(max(0, configuration.maxBodySize), 64 << 20)
        configuration.maxReads = max(1, configuration.maxReads)
        self.configuration = configuration
        sharing = SharingRules(rules: rules, sharesPrivateResponses: configuration.sharesPrivateResponses)
        self.store = store
        self.executor = executor
        self.now = now
        self.logger = logger
        reads = AsyncSemaphore(configuration.maxReads)
        let given = configuration.transport
        transports = [configuration.maxReads + RemoteStoreConfiguration.maxPartReads, max(1, configuration.maxUploads)]
            .map { [traffic] width in
                MeteredTransport(given ?? TransferEngine.ofStore(width: width), traffic)
            }
        let sizeLimit = Int(max(configuration.maxBodySize, configuration.partSize)) + RemoteObject.maxHeadSize
        tier = S3Tier(configuration, over: transports[0], sizeLimit: sizeLimit, now: now)
        uploadTier = tier.over(transports[1])
        var limits = CircuitBreaker.Limits()
        limits.failures = max(1, configuration.failureLimit)
        limits.slow = configuration.slowResponse
        state = Locked(
            State(
                breaker: CircuitBreaker(limits),
                queue: RemoteQueue(
                    maxCount: configuration.maxWaitingUploads, maxBytes: configuration.maxWaitingBytes,
                    width: configuration.maxUploads)))
        startWatching()
    }

    deinit { state.withLock { $0.watch }?.cancel() }

    var statistics: RemoteStatistics {
        state.withLock { state in
            var counts = state.counts
            counts.droppedUploads += state.queue.dropped
            counts.waitingUploads = state.queue.waitingCount
            counts.waitingBytes = state.queue.waitingBytes
            counts.traffic = traffic.counts
            counts.waitingInvalidations = state.invalidations.count
            counts.lostInvalidations = state.invalidations.lost
            counts.isAvailable = state.breaker.isClosed
            counts.honoursConditions = state.conditions.map { $0 == .honoursConditions }
            return counts
        }
    }

    func join(_ fetch: FetchAccess) -> any TierFetch { RemoteFetch(fetch, in: self) }

    // MARK: Reading

    /// The result of a look-up of a response.
    struct LookUp: Sendable {
        /// The object, verified and in the resource's epoch; nil if there is none, or it cannot be read.
        var object: RemoteObject?
        /// The epoch of the resource; nil if the store cannot be read.
        var epoch: RemoteEpoch?
        /// False if the circuit was open.
        var wasAsked = true
    }

    /// Looks up the object of a key.
    func object(for key: EntryKey, of url: String) async -> LookUp {
        // Both are read before the request to the origin.
        async let epoch = epoch(of: url)
        switch await storedObject(for: key) {
        case .skipped: return LookUp(wasAsked: false)
        case .failed: return LookUp(epoch: await epoch)
        case .done(let found):
            guard let found, let current = await epoch, current.allows(found.stamp) else {
                return LookUp(epoch: await epoch)
            }
            return LookUp(object: found.object, epoch: current)
        }
    }

    private typealias StoredObject = (object: RemoteObject, stamp: RemoteStamp?)

    private func storedObject(for key: EntryKey) async -> ObjectReading<StoredObject?> {
        let name = key.remoteKey
        // An object that was found damaged or invalidated is deleted in the background, and is not read again until then.
        if case .delete? = state.withLock({ $0.queue.pending(name) }) { return .done(nil) }
        let reading: RemoteReading
        switch await self.reading(
            name, in: reads, byteCount: { $0.bytes?.count ?? 0 },
            { (tier) async throws(RemoteError) in try await tier.read(name, unless: nil) })
        {
        case .skipped: return .skipped
        case .failed(let error):
            if case .damaged(let reason) = error { deleteDamaged(name, reason) }
            return .failed(error)
        case .done(let value): reading = value
        }
        guard let bytes = reading.bytes else { return .done(nil) }
        let (content, stamp) = RemoteStamp.split(bytes)
        guard var object = RemoteObject(decoding: content, key: key) else {
            deleteDamaged(name, "it is not the object of this key")
            return .done(nil)
        }
        let now = now()
        // The store's times are whole seconds, which must not put a response in the future.
        let shift = min(
            stamp?.shift(now: now, age: reading.age) ?? 0, now.timeIntervalSince(object.record.response.responseTime))
        object.record.response.requestTime += shift
        object.record.response.responseTime += shift
        return .done((object, stamp))
    }

    /// Records the end of a look-up: true if an object was used.
    func noteLookUp(_ isHit: Bool) {
        state.withLock { state in if isHit { state.counts.hits += 1 } else { state.counts.misses += 1 } }
    }

    func deleteDamaged(_ key: String, _ reason: String) {
        state.withLock { $0.counts.damaged += 1 }
        logger.warning(
            "a damaged object of the remote store is deleted",
            metadata: ["key": "\(key)", "reason": "\(reason)"])
        add(.init(key: key, size: 0, work: .delete))
    }

    // MARK: Writing

    /// Uploads the file of a URL after all pending changes, or before them if other machines wait for it.
    ///
    /// - Returns: False if the file is too long.
    func upload(_ file: CachedFile, url: String, for key: EntryKey, _ fill: FillContext) -> Bool {
        guard file.size <= configuration.maxBodySize else { return false }
        let work = Change.upload(file, url: url, key, fill)
        add(.init(key: key.remoteKey, size: file.size, work: work, isUrgent: fill.lease != nil))
        return true
    }

    /// Deletes objects for whose deletion other machines wait.
    func delete(_ names: [String]) {
        for name in names { add(.init(key: name, size: 0, work: .delete, isUrgent: true)) }
    }

    func add(_ change: RemoteQueue<Change>.Change) {
        let dropped = state.withLock { state in
            let dropped = state.queue.add(change)
            guard let first = state.queue.next() else { return dropped }
            state.lastWorker += 1
            let number = state.lastWorker
            state.workers[number] = Task(executorPreference: executor) { await self.work(first, number) }
            return dropped
        }
        // Outside of the lock, because releasing a lease adds a change.
        withExtendedLifetime(dropped) {}
    }

    /// Makes changes until there are none.
    private func work(_ first: RemoteQueue<Change>.Change, _ number: Int) async {
        var next: RemoteQueue<Change>.Change? = first
        while let change = next {
            await make(change)
            let (following, idle) = state.withLock { state -> (RemoteQueue<Change>.Change?, [Promise<Bool>]) in
                state.queue.finished(change.key)
                let following = state.queue.next()
                if following == nil { state.workers[number] = nil }
                guard state.queue.isIdle else { return (following, []) }
                defer { state.idle = [] }
                return (following, state.idle)
            }
            for promise in idle { promise.fulfill(true) }
            next = following
        }
    }

    private func make(_ change: RemoteQueue<Change>.Change) async {
        if case .parts(let change) = change.work { return await make(change) }
        var object: [UInt8]?
        var lease: RemoteLease?
        // Nothing is shared if the file was invalidated or removed in the meantime.
        switch change.work {
        case .upload(let file, let url, let key, let fill):
            lease = fill.lease
            guard let stamp = await stamp(of: fill, url), store.isCurrent(file.generation.epoch),
                let bytes = Self.object(of: file, url, key)
            else { return }
            object = bytes + stamp.encoded
        case .image(let image, let generation):
            guard store.isCurrent(generation.epoch) else { return }
            object = image.encoded
        case .delete, .parts: break
        }
        let content = object
        let isDone = await changing { (tier) async throws(RemoteError) in
            guard let content else {
                try await tier.delete(change.key)
                return false
            }
            return try await tier.put(content, at: change.key, .none)
        }
        if isDone { await lease?.released() }
    }

    /// A file as an object; `nil` if it cannot be read.
    private static func object(of file: CachedFile, _ url: String, _ key: EntryKey) -> [UInt8]? {
        let head = ResponseRecord(url: url, response: file.response).encoded
        guard head.count <= RemoteObject.maxHeadSize else { return nil }
        var body = [UInt8](repeating: 0, count: Int(file.size))
        let count = body.withUnsafeMutableBytes { try? file.body.read(into: $0, at: 0) }
        return count == body.count ? RemoteObject.encode(head: head, body: body, key: key) : nil
    }

    // MARK: Closing

    /// Drops the pending changes.
    func dropWaiting() {
        let dropped = state.withLock { $0.queue.dropWaiting() }
        withExtendedLifetime(dropped) {}
    }

    /// Publishes the pending invalidations, makes the pending changes, and shuts down, within a total time.
    func close(within time: Duration) async {
        let deadline = ContinuousClock.now + time
        func left() -> Duration { max(.zero, deadline - .now) }
        await stopWatching()
        await endTelling(within: left())
        let idle = Promise<Bool>()
        let isIdle = state.withLock { state in
            if !state.queue.isIdle { state.idle.append(idle) }
            return state.queue.isIdle
        }
        if !isIdle {
            let timer = Task {
                try? await Task.sleep(for: left())
                idle.fulfill(false)
            }
            let isFlushed = await idle.valueDespiteCancellation()
            timer.cancel()
            if !isFlushed { await stop() }
        }
        for transport in transports { await transport.shutDown() }
    }

    private func stop() async {
        dropWaiting()
        let workers = state.withLock { Array($0.workers.values) }
        for worker in workers { worker.cancel() }
        for worker in workers { await worker.value }
    }
}

extension TransferEngine {
    /// An engine for requests to a store, with a fixed number of concurrent transfers.
    fileprivate static func ofStore(width: Int) -> TransferEngine {
        var configuration = Configuration()
        configuration.maxTransfers = width
        configuration.maxPerHost = width
        configuration.adaptsToHosts = false
        return TransferEngine(configuration: configuration)
    }
}
