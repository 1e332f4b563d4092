import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import Logging
import RemoteStore
import Transfer

/// The store that this cache shares with other machines: looked into after the disk, written to behind the response.
///
/// Nothing here fails a request. A store that fails or is slow is left alone by a breaker.
final class RemoteCache: Sendable {
    /// A change of the store that waits.
    enum Change: Sendable {
        case upload(CachedFile, url: String, EntryKey)
        case delete
    }

    private struct State {
        var breaker: RemoteBreaker
        var queue: RemoteQueue<Change>
        var counts = RemoteStatistics()
        /// When this process has invalidated what a key stands for: older objects are not used.
        var invalidations: [EntryKey: Date] = [:]
        var idle: [Promise<Bool>] = []
        var workers: [Int: Task<Void, Never>] = [:]
        var lastWorker = 0
    }

    private static let maxInvalidations = 4096
    /// The time for uploads that wait when the cache is closed.
    private static let flushTime = Duration.seconds(10)

    let configuration: RemoteStoreConfiguration
    private let tier: any RemoteTier
    private let transport: any HTTPTransport
    private let store: DiskStore
    private let executor: BlockingExecutor
    private let now: @Sendable () -> Date
    private let logger: Logger
    private let state: Locked<State>

    init(
        _ configuration: RemoteStoreConfiguration, store: DiskStore, executor: BlockingExecutor,
        now: @escaping @Sendable () -> Date, logger: Logger
    ) {
        var configuration = configuration
        configuration.maxBodySize = min(max(0, configuration.maxBodySize), 64 << 20)
        self.configuration = configuration
        self.store = store
        self.executor = executor
        self.now = now
        self.logger = logger
        transport = configuration.transport ?? TransferEngine()
        tier = S3Tier(
            configuration, over: transport, sizeLimit: Int(configuration.maxBodySize) + RemoteObject.maxHeadSize,
            now: now)
        var limits = RemoteBreaker.Limits()
        limits.failures = max(1, configuration.failureLimit)
        limits.slow = configuration.slowResponse
        state = Locked(
            State(
                breaker: RemoteBreaker(limits),
                queue: RemoteQueue(
                    maxCount: configuration.maxWaitingUploads, maxBytes: configuration.maxWaitingBytes,
                    width: configuration.maxUploads)))
    }

    var statistics: RemoteStatistics {
        state.withLock { state in
            var counts = state.counts
            counts.droppedUploads += state.queue.dropped
            counts.waitingUploads = state.queue.waitingCount
            counts.isAvailable = state.breaker.isClosed
            return counts
        }
    }

    // MARK: Reading

    /// The object that is stored for a key, verified; `nil`: there is none, or none that can be had now.
    func object(for key: EntryKey) async -> RemoteObject? {
        guard mayAsk() else { return nil }
        let began = ContinuousClock.now
        let bytes: [UInt8]?
        do throws(RemoteError) {
            bytes = try await tier.get(key.remoteKey)
        } catch {
            note(error, after: .now - began)
            if case .damaged(let reason) = error { deleteDamaged(key, reason) } else { noteUse(false) }
            return nil
        }
        // Ten bytes a microsecond are the pace of a good network: a long object is not a slow response.
        responded(after: .now - began - .microseconds((bytes?.count ?? 0) / 10))
        guard let bytes else {
            state.withLock { $0.counts.misses += 1 }
            return nil
        }
        guard let object = RemoteObject(decoding: bytes, key: key) else {
            deleteDamaged(key, "it is not the object of this key")
            return nil
        }
        let invalidated = state.withLock { $0.invalidations[key] }
        if let invalidated, object.record.response.requestTime <= invalidated {
            state.withLock { $0.counts.misses += 1 }
            return nil
        }
        return object
    }

    /// An object was used, or was of no use to the request.
    func noteUse(_ isHit: Bool) {
        state.withLock { state in if isHit { state.counts.hits += 1 } else { state.counts.misses += 1 } }
    }

    private func deleteDamaged(_ key: EntryKey, _ reason: String) {
        state.withLock { $0.counts.damaged += 1 }
        logger.warning(
            "a damaged object of the remote store is deleted",
            metadata: ["key": "\(key.remoteKey)", "reason": "\(reason)"])
        add(.init(key: key.remoteKey, size: 0, work: .delete))
    }

    // MARK: The breaker

    private func mayAsk() -> Bool {
        state.withLock { state in
            let mayAsk = state.breaker.mayAsk(at: .now)
            if !mayAsk { state.counts.skipped += 1 }
            return mayAsk
        }
    }

    private func responded(after time: Duration) { finished(.responded(after: time), nil) }

    private func note(_ error: RemoteError, after time: Duration, isRead: Bool = true) {
        switch error {
        case .cancelled: return
        case .damaged, .tooLong: return responded(after: time)
        // Uploads that time out say little of reads, which are shorter.
        case .timeout: finished(isRead ? .timedOut : .failed, error)
        case .unreachable, .status, .digestUnavailable: finished(.failed, error)
        }
    }

    private func finished(_ outcome: RemoteBreaker.Outcome, _ error: RemoteError?) {
        let change = state.withLock { state in
            if error != nil { state.counts.errors += 1 }
            return state.breaker.finished(outcome, at: .now)
        }
        switch change {
        case .opened:
            logger.warning(
                "the remote store is not asked for a while",
                metadata: [
                    "endpoint": "\(configuration.location.endpoint)", "bucket": "\(configuration.location.bucket)",
                    "reason": "\(error?.description ?? "it is slow")",
                ])
        case .closed:
            logger.notice("the remote store is asked again", metadata: ["bucket": "\(configuration.location.bucket)"])
        case nil: break
        }
    }

    // MARK: Writing

    /// Stores the file of a URL for other machines, after those that wait already.
    func upload(_ file: CachedFile, url: String, for key: EntryKey) {
        guard file.size <= configuration.maxBodySize else { return }
        add(.init(key: key.remoteKey, size: file.size, work: .upload(file, url: url, key)))
    }

    /// Invalidates keys: older objects are ignored from now on, and deleted.
    func invalidate(_ keys: [EntryKey]) {
        let now = now()
        for key in keys {
            state.withLock { state in
                if state.invalidations.count >= Self.maxInvalidations,
                    let oldest = state.invalidations.min(by: { $0.value < $1.value })
                {
                    state.invalidations[oldest.key] = nil
                }
                state.invalidations[key] = now
            }
            add(.init(key: key.remoteKey, size: 0, work: .delete))
        }
    }

    private func add(_ change: RemoteQueue<Change>.Change) {
        state.withLock { state in
            state.queue.add(change)
            guard let first = state.queue.next() else { return }
            state.lastWorker += 1
            let number = state.lastWorker
            state.workers[number] = Task(executorPreference: executor) { await self.work(first, number) }
        }
    }

    /// Makes one change after another until there is none.
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
        var object: [UInt8]?
        if case .upload(let file, let url, let key) = change.work {
            // Invalidated meanwhile, or gone: there is nothing to share.
            guard store.isCurrent(file.generation.epoch), let bytes = Self.object(of: file, url, key) else { return }
            object = bytes
        }
        guard !Task.isCancelled, mayAsk() else {
            state.withLock { $0.counts.droppedUploads += 1 }
            return
        }
        let began = ContinuousClock.now
        do throws(RemoteError) {
            if let object {
                _ = try await tier.put(object, at: change.key, .none)
                state.withLock { $0.counts.uploads += 1 }
            } else {
                try await tier.delete(change.key)
            }
            responded(after: .now - began - .microseconds((object?.count ?? 0) / 10))
        } catch {
            state.withLock { $0.counts.droppedUploads += 1 }
            note(error, after: .now - began, isRead: false)
        }
    }

    /// A file as an object; `nil` when it cannot be read.
    private static func object(of file: CachedFile, _ url: String, _ key: EntryKey) -> [UInt8]? {
        let head = ResponseRecord(url: url, response: file.response).encoded
        guard head.count <= RemoteObject.maxHeadSize else { return nil }
        var body = [UInt8](repeating: 0, count: Int(file.size))
        let count = body.withUnsafeMutableBytes { try? file.body.read(into: $0, at: 0) }
        return count == body.count ? RemoteObject.encode(head: head, body: body, key: key) : nil
    }

    // MARK: The end

    /// Drops the changes that wait.
    func dropWaiting() { state.withLock { $0.queue.dropWaiting() } }

    /// Makes the changes that wait, for a limited time, and shuts down.
    func close() async {
        let idle = Promise<Bool>()
        let isIdle = state.withLock { state in
            if !state.queue.isIdle { state.idle.append(idle) }
            return state.queue.isIdle
        }
        if !isIdle {
            let timer = Task {
                try? await Task.sleep(for: Self.flushTime)
                idle.fulfill(false)
            }
            let isFlushed = await idle.valueDespiteCancellation()
            timer.cancel()
            if !isFlushed { await stop() }
        }
        await transport.shutDown()
    }

    private func stop() async {
        let workers = state.withLock { state in
            state.queue.dropWaiting()
            return Array(state.workers.values)
        }
        for worker in workers { worker.cancel() }
        for worker in workers { await worker.value }
    }
}
