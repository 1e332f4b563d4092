import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// The fetches of single blocks of one large body, for all of its readers in this process.
///
/// * **Opening.** The first reader opens the incomplete body of the key. If there is none, its own range is requested, and the response describes the
///   body: its length, its validator and its freshness. Without a strong validator no block is kept, and the readers request all of the body. If all
///   of the body is stored but stale, the request is conditional, and a 304 confirms the stored response.
/// * **Blocks.** A reader requests the missing blocks of its current window, one request with `If-Range` for each missing range. It waits for blocks
///   that another reader has requested. A response of another representation ends the fetch for all readers, so blocks of two representations are
///   never joined.
/// * **Freshness.** If the body is stale, a reader waits until a response confirms it: the response for the missing blocks, or if none is missing, the
///   response to a request for the last byte.
/// * **Closing.** When the last reader ends, the requests are cancelled and the complete blocks are kept. The fetch holds the key's lock until then, so
///   other processes wait instead of fetching the same blocks.
final class RangeFetch: Sendable {
    private struct Run {
        var range: Range<Int64>
        var task: Task<Void, Never>?
    }

    /// The number of the first run, which opens the body.
    private static let openingRun = 1

    private struct State {
        var body: IncompleteBody?
        var record: ResponseRecord?
        /// True if the record is newer than the stored one.
        var hasNewRecord = false
        /// The number of responses that confirmed the representation.
        var confirmations = 0
        var isOutdated = false
        var readers = 1
        var isClosing = false
        /// True if it was cancelled for all readers.
        var isCancelled = false
        var lock: ByteLock?
        var runs: [Int: Run] = [:]
        var lastRun = 0
        var failure: ImageCacheError?
        /// True if the body was made by the first request.
        var isNew = false
        /// The bytes of the blocks that were received.
        var received: Int64 = 0
        /// Fulfilled at the next change that readers may wait for.
        var change = Promise<Void>()
        /// The end of the bytes that the last reader got.
        var position: Int64 = 0
    }

    /// The request of the first reader. Its response also answers other requests with the same terms that select the same variant.
    let resolved: ResolvedRequest
    /// The transfers' common priority and listeners.
    let fetch: Fetch
    let generation: Generation
    private let fetcher: Fetcher
    private let terms: FetchTerms
    private let state = Locked(State())
    private let opening = Promise<Opening>()
    private let closed = Promise<Void>()

    /// - Parameter generation: The generation of the resource before the look-up that found no response.
    init(_ resolved: ResolvedRequest, in generation: Generation, by fetcher: Fetcher) {
        self.resolved = resolved
        self.fetcher = fetcher
        terms = FetchTerms(resolved)
        fetch = Fetch(resolved.url, for: resolved.request)
        self.generation = generation
    }

    // MARK: Readers

    /// The outcome of an attempt to become a reader.
    enum Joining {
        case joined
        /// The reader has other terms, or the resource was invalidated after the fetch began.
        case differs
        /// The last reader has left.
        case closing
    }

    func join(_ request: ResolvedRequest) -> Joining {
        guard FetchTerms(request) == terms, fetcher.store.isCurrent(generation.epoch) else { return .differs }
        fetch.join(request.request)
        return state.withLock { state in
            if state.isClosing || state.isOutdated { return .closing }
            state.readers += 1
            return .joined
        }
    }

    /// Ends the use by one reader.
    func leave(at position: Int64) {
        let cancelled = state.withLock { state -> [Task<Void, Never>]? in
            state.readers -= 1
            state.position = position
            guard state.readers == 0, !state.isCancelled else { return nil }
            state.isClosing = true
            // The rest of a small body is fetched anyway.
            if let body = state.body, body.total <= RangePlan.smallBody { return [] }
            return state.runs.values.filter { run in
                // A request of which all blocks have come ends by itself, and its connection is used again.
                run.range.isEmpty || state.body?.missing(in: run.range).isEmpty != true
            }.compactMap(\.task)
        }
        guard let cancelled else { return }
        for task in cancelled { task.cancel() }
        Task(executorPreference: fetcher.executor) { await self.close() }
    }

    /// Ends the fetch for all readers. The complete blocks are kept.
    func cancel() {
        let (tasks, isFirst) = state.withLock { state in
            defer { (state.isClosing, state.isCancelled) = (true, true) }
            return (state.runs.values.compactMap(\.task), !state.isClosing && !state.isOutdated)
        }
        for task in tasks { task.cancel() }
        noteChange()
        if isFirst { Task(executorPreference: fetcher.executor) { await self.close() } }
    }

    private func close() async {
        while let change = state.withLock({ $0.runs.isEmpty ? nil : $0.change }) { _ = await change.value() }
        let (known, body, lock) = state.withLock { state in
            defer { (state.body, state.lock) = (nil, nil) }
            return (
                (record: state.record, hasNewRecord: state.hasNewRecord, position: state.position), state.body,
                state.lock
            )
        }
        noteChange()
        var isSequential = false
        if let body, let record = known.record {
            isSequential = RangePlan.completes(
                body.total, after: known.position,
                with: body.heldBytes(before: known.position, upTo: RangePlan.sequentialRun))
            if !isStorable(record.response) {
                isSequential = false
                try? body.discard()
            } else if body.isComplete, await store(body, record) {
                isSequential = false
            } else {
                // A failure only means that a later reader confirms the representation again.
                if known.hasNewRecord { _ = try? body.setHeader(record.encodedWithRoom) }
                try? body.keep()
            }
        }
        release(lock)
        closed.fulfill(())
        if isSequential, !state.withLock({ $0.isCancelled }) { fetcher.completeInBackground(resolved) }
    }

    /// Discards the blocks after the representation has changed at the origin. The present readers fail, and later ones start over.
    private func discard() {
        let (body, lock) = state.withLock { state in
            defer { (state.isOutdated, state.body, state.lock) = (true, nil, nil) }
            return (state.body, state.lock)
        }
        // A failure only means that the next request finds the change again.
        try? body?.discard()
        release(lock)
        // The present readers may hold the fetch until others start over, as the parts of one response do.
        closed.fulfill(())
    }

    /// Lets other requests and processes use the key.
    private func release(_ lock: ByteLock?) {
        lock?.release()
        fetcher.openPartials.withLock { $0.remove(resolved.key) }
        fetcher.rangeFetches.remove(self)
    }

    /// Stores a body without missing blocks as an entry; false if it remains incomplete.
    private func store(_ body: IncompleteBody, _ record: ResponseRecord) async -> Bool {
        guard let variant = fetcher.rules.variantKey(of: record.response) else { return false }
        var record = record
        record.response.extent = .complete(length: body.total)
        let entry = fetcher.newEntry(for: record, variant: variant, resolved, generation)
        let stored = try? await fetcher.commit(entry, record) { (entry) throws(StoreError) in try body.commit(entry) }
        return stored != nil
    }

    /// Returns false if the calling task is cancelled before.
    func waitUntilClosed() async -> Bool { await closed.value() != nil }

    var isClosing: Bool { state.withLock { $0.isClosing } }

    // MARK: Opening

    /// The result of the opening.
    enum Opening {
        case byBlocks
        /// The origin confirmed the stored response, which has the whole body.
        case confirmed(CachedFile)
        /// Another process uses the blocks.
        case busy
        /// The store has changed since the look-up that found no response.
        case changed
        /// All of the body must be requested.
        case whole
    }

    /// Waits until the body is open.
    func opened() async throws(ImageCacheError) -> Opening {
        guard let opening = await opening.value() else { throw .cancelled }
        switch opening {
        case .byBlocks, .confirmed: return opening
        case .busy, .changed, .whole:
            if state.withLock({ $0.isCancelled }) { throw .cancelled.with(url: resolved.url) }
            if let failure = state.withLock({ $0.failure }) { throw failure }
            return opening
        }
    }

    /// Opens the stored blocks, or requests the first ones.
    ///
    /// - Parameter range: The range that the first reader asked for.
    func open(_ range: ByteRange) {
        start(0..<0) { [self] () async throws(ImageCacheError) in
            var lock = try fetcher.tryLock(resolved)
            if lock == nil {
                // A fetch of the whole body brings the range, too.
                if fetcher.fetches.running(resolved.key, in: generation.epoch) != nil { return opening.fulfill(.whole) }
                lock = try await fetcher.lock(resolved, .atMost(.seconds(1)))
            }
            guard let lock else { return opening.fulfill(.busy) }
            state.withLock { $0.lock = lock }
            guard fetcher.store.isCurrent(generation.epoch) else { return opening.fulfill(.changed) }
            // Another fetch may have stored the response and released the lock since the look-up. The generation alone does not prove that: it is
            // not current as long as its slot is unsettled.
            if !fetcher.store.isCurrent(generation), try fetcher.storedResponse(resolved) != nil {
                return opening.fulfill(.changed)
            }
            do throws(StoreError) {
                if let body = try fetcher.store.openIncomplete(for: resolved.partialKey, in: generation.epoch) {
                    return openStored(body)
                }
            } catch {
                throw ImageCacheError(error)
            }
            guard let asked = RangePlan.first(for: range), case .miss(let conditional) = try fetcher.lookUp(resolved)
            else { return opening.fulfill(.whole) }
            try await requestFirst(asked, conditional)
        }
    }

    private func openStored(_ body: IncompleteBody) {
        guard let record = ResponseRecord(decoding: body.header), record.validator != nil,
            record.mayBeContinued(by: resolved.cacheRequest.fields, rules: fetcher.rules),
            isStorable(record.response)
        else {
            try? body.keep()
            return opening.fulfill(.whole)
        }
        state.withLock { ($0.body, $0.record) = (body, record) }
        opening.fulfill(.byBlocks)
    }

    private func requestFirst(
        _ asked: ByteRange, _ conditional: ConditionalRequest
    ) async throws(ImageCacheError) {
        var request = resolved.transferRequest(conditional, for: fetch)
        request.fields[.range] = "bytes=\(asked.text)"
        request.options.forwardsErrorResponses = true
        let sink = FirstBlocksSink(self, asked)
        defer { opening.fulfill(.whole) }
        let result: TransferResult
        do throws(TransferError) {
            result = try await run(request, into: sink)
        } catch {
            if let refused = error.cause as? FirstBlocksSink.NotDivisible {
                if refused.status == .rangeNotSatisfiable, let end = RangePlan.end(insteadOf: asked) {
                    return try await requestFirst(end, conditional)
                }
                // An error says nothing about later responses.
                if refused.status.kind == .successful {
                    fetcher.rangeFetches.noteUndivided(resolved.key, isForCredentials: refused.isForCredentials)
                }
                return
            }
            // A stale response may replace the failure: see `FetchMachine`.
            if conditional.fallback != nil { return }
            throw ImageCacheError(error)
        }
        if case .notModified = result.outcome,
            let file = try await fetcher.confirm(result, conditional, resolved)
        {
            opening.fulfill(.confirmed(file))
        }
    }

    /// Makes the body that the response to the first request describes.
    func begin(_ head: ResponseHead, total: Int64) throws -> IncompleteBody {
        var whole = head
        whole.status = .ok
        whole.fields = CacheRules.asWhole(head.fields, length: total)
        let record = ResponseRecord(whole, answering: resolved, rules: fetcher.rules)
        let isForCredentials = fetcher.rules.isRefusedForCredentials(
            HTTPResponse(status: whole.status, headerFields: whole.fields), to: resolved.cacheRequest,
            receivedAt: head.responseTime)
        guard !isForCredentials else {
            throw FirstBlocksSink.NotDivisible(status: head.status, isForCredentials: true)
        }
        guard total <= IncompleteBody.longest, record.validator != nil, isStorable(record.response),
            fetcher.rules.variantKey(of: record.response) != nil
        else { throw FirstBlocksSink.NotDivisible(status: head.status) }
        let body = try fetcher.store.makeIncomplete(
            for: resolved.partialKey, header: record.encodedWithRoom, total: total, in: generation.epoch)
        state.withLock { state in
            (state.body, state.record, state.isNew) = (body, record, true)
            state.confirmations += 1
        }
        return body
    }

    /// Lets the readers begin.
    ///
    /// - Parameter range: The blocks that the first response brings.
    func opened(with range: Range<Int64>) {
        state.withLock { $0.runs[Self.openingRun]?.range = range }
        opening.fulfill(.byBlocks)
    }

    private func isStorable(_ response: StoredResponse) -> Bool {
        fetcher.rules.storability(of: response, to: resolved.cacheRequest).isStorable
    }

    // MARK: State

    /// The response with the length of its body, after ``opened()``.
    var response: StoredResponse? {
        state.withLock { state in
            guard let body = state.body, var response = state.record?.response else { return nil }
            response.extent = .complete(length: body.total)
            return response
        }
    }

    /// Returns true if the stored response answers the request according to `Vary`.
    func isSelected(by request: ResolvedRequest) -> Bool {
        guard let record = state.withLock({ $0.record }) else { return false }
        return record.mayBeContinued(by: request.cacheRequest.fields, rules: fetcher.rules)
    }

    /// The number of responses so far that confirmed the representation: for ``waitUntilValid(_:since:)``.
    var confirmations: Int { state.withLock { $0.confirmations } }

    /// True if nothing of the body was stored before.
    var isNew: Bool { state.withLock { $0.isNew } }

    /// The bytes of the blocks that all readers' requests have received.
    var bytesReceived: Int64 { state.withLock { $0.received } }

    /// The progress of the requests under way; `nil` if there are none. It has no length: readers want parts of the body.
    var progress: DownloadProgress? {
        let received = state.withLock { $0.runs.isEmpty ? nil : $0.received }
        guard let received else { return nil }
        var progress = DownloadProgress()
        progress.phase = fetch.latest.phase
        progress.hasResponse = fetch.latest.hasResponse
        progress.received = received
        return progress
    }

    /// Counts a block that was received and stored, and wakes the waiting readers.
    func noteReceived(_ bytes: Int) {
        state.withLock { $0.received += Int64(bytes) }
        noteChange()
    }

    /// Wakes the waiting readers.
    private func noteChange() {
        let change = state.withLock { state in
            defer { state.change = Promise() }
            return state.change
        }
        change.fulfill(())
    }

    /// Returns true if a response with all of the body has the representation whose blocks are held. A validator is unique to its resource.
    func isOfHeld(_ head: ResponseHead, _ held: HeldPartial) -> Bool {
        head.resumeValidator == held.validator && fetcher.rules.signatures.isSameResource(head.finalURL, held.url)
    }

    /// Notes that a response proved to be of the representation whose blocks are held.
    ///
    /// - Returns: False if the representation must no longer be stored: its readers are those of several clients.
    func confirm(by head: ResponseHead) -> Bool {
        let isConfirmed = state.withLock { state in
            var record = state.record
            record?.update(by: head, to: resolved.cacheRequest, rules: fetcher.rules)
            if let response = record?.response, !isStorable(response) { return false }
            state.record = record
            state.hasNewRecord = true
            state.confirmations += 1
            return true
        }
        if isConfirmed { noteChange() }
        return isConfirmed
    }

    // MARK: Requests

    private func run(
        _ request: TransferRequest, into sink: any BodySink
    ) async throws(TransferError) -> TransferResult {
        try await fetcher.sources.transport(for: resolved.request, of: fetch).run(
            request, into: sink, events: { [resolved, fetch] in resolved.report($0, to: fetch) })
    }

    /// Starts a task that requests a range, and wakes the readers at its end.
    private func start(
        _ range: Range<Int64>, _ work: @escaping @Sendable () async throws(ImageCacheError) -> Void
    ) {
        let number = state.withLock { state in
            state.lastRun += 1
            state.runs[state.lastRun] = Run(range: range)
            return state.lastRun
        }
        start(number, work)
    }

    private func start(_ number: Int, _ work: @escaping @Sendable () async throws(ImageCacheError) -> Void) {
        let task = Task(executorPreference: fetcher.executor) { [self] in
            var failure: ImageCacheError?
            do throws(ImageCacheError) { try await work() } catch { failure = error }
            if failure?.cause is RepresentationChanged { discard() }
            state.withLock { state in
                state.runs[number] = nil
                state.failure = failure ?? state.failure
            }
            opening.fulfill(.whole)
            noteChange()
        }
        let isClosing = state.withLock { state in
            state.runs[number]?.task = task
            return state.isClosing
        }
        if isClosing { task.cancel() }
    }

    /// Requests a range of whole blocks, or with an empty range a confirmation.
    private func fetchBlocks(_ range: Range<Int64>, of body: IncompleteBody) async throws(ImageCacheError) {
        guard let record = state.withLock({ $0.record }), let validator = record.validator else { return }
        var request = resolved.transferRequest(for: fetch)
        request = request.withoutForwardedErrors
        let held = HeldPartial(
            validator: validator, lastModified: record.strongLastModified, total: body.total, missing: [],
            url: record.finalURL)
        let sink = BlockSink(self, body, held, range)
        defer { fetch.detach(sink) }
        let result: TransferResult
        do throws(TransferError) {
            result = try await run(request, into: sink)
        } catch {
            if error.cause is BlocksComplete { return }
            var failure = ImageCacheError(error)
            if let cause = error.cause as? RepresentationChanged { failure.cause = cause }
            throw failure
        }
        guard case .body = result.outcome else { throw .failure(result, resolved) }
    }

    /// Requests the missing blocks of a window, except blocks that are already requested.
    func request(_ window: Range<Int64>) throws(ImageCacheError) {
        guard let body = state.withLock({ $0.body }) else { return }
        do throws(StoreError) { try body.verify(window) } catch { throw ImageCacheError(error) }
        let wanted = state.withLock { state -> [(number: Int, range: Range<Int64>)] in
            if state.isOutdated || state.isCancelled { return [] }
            let requested = RangeSet(state.runs.values.map(\.range))
            return RangeSet(body.missing(in: window)).subtracting(requested).ranges.map { range in
                state.lastRun += 1
                state.runs[state.lastRun] = Run(range: range)
                return (state.lastRun, range)
            }
        }
        do throws(StoreError) { try body.reserve(wanted.map(\.range)) } catch {
            state.withLock { state in
                for run in wanted { state.runs[run.number] = nil }
            }
            noteChange()
            throw ImageCacheError(error)
        }
        for (number, range) in wanted {
            start(number) { [self] () async throws(ImageCacheError) in try await fetchBlocks(range, of: body) }
        }
    }

    // MARK: Waiting

    /// Waits until a reader may begin: a response has confirmed the representation, or the stored one is fresh and has the whole first window.
    ///
    /// Otherwise a reader could send stored blocks and then learn that the representation has changed.
    ///
    /// - Parameter confirmations: ``confirmations`` when the reader began.
    func waitUntilValid(
        _ window: Range<Int64>, since confirmations: Int, _ isFresh: (StoredResponse) -> Bool
    ) async throws(ImageCacheError) {
        var hasAsked = false
        while true {
            let (isConfirmed, isAsking, body, failure, change) = state.withLock { state in
                (
                    state.confirmations > confirmations, !state.runs.isEmpty,
                    state.isCancelled ? nil : state.body, state.failure, state.change
                )
            }
            guard let response, let body else { throw changed }
            let isMissing = !body.missing(in: window).isEmpty
            if isConfirmed || !isMissing && isFresh(response) { return }
            if isAsking {
                guard await change.value() != nil else { throw .cancelled }
                continue
            }
            if hasAsked { throw failure ?? .withoutResponse(resolved) }
            hasAsked = true
            if isMissing {
                try request(window)
            } else {
                start(0..<0) { [self] () async throws(ImageCacheError) in try await fetchBlocks(0..<0, of: body) }
            }
        }
    }

    /// Waits for the bytes of a range from a position on, and requests them unless they are already requested.
    ///
    /// - Returns: The end of the available bytes.
    func available(at position: Int64, of range: Range<Int64>) async throws(ImageCacheError) -> Int64 {
        var hasAsked = false
        while true {
            let (body, isRequested, failure, change) = state.withLock { state in
                (
                    state.isCancelled ? nil : state.body, state.runs.values.contains { $0.range.contains(position) },
                    state.failure, state.change
                )
            }
            guard let body else { throw changed }
            let end = min(body.availableEnd(from: position), range.upperBound)
            if end > position { return end }
            if !isRequested {
                if hasAsked { throw failure ?? .withoutResponse(resolved) }
                hasAsked = true
                try request(RangePlan.window(at: position, of: range))
                continue
            }
            guard await change.value() != nil else { throw .cancelled }
        }
    }

    /// The error of a reader whose fetch was cancelled, or whose file changed at the origin.
    private var changed: ImageCacheError {
        if state.withLock({ $0.isCancelled }) { return .cancelled.with(url: resolved.url) }
        return ImageCacheError(
            .wrongBytes, url: resolved.url, message: "the file changed at the origin while a range of it was read",
            cause: RepresentationChanged())
    }

    /// The blocks that are present, open for reading after the fetch is closed.
    func openedBody() throws(ImageCacheError) -> PartialBody {
        guard let body = state.withLock({ $0.body }) else { throw changed }
        do throws(StoreError) { return try body.opened() } catch { throw ImageCacheError(error) }
    }
}

extension ResponseRecord {
    /// ``encoded``, with room for fields that later responses change, so that the header of a partial can be replaced in its place.
    var encodedWithRoom: [UInt8] {
        let encoded = encoded
        let size = (encoded.count + 64 + 511) / 512 * 512
        return encoded + [UInt8](repeating: 0, count: size - encoded.count)
    }
}
