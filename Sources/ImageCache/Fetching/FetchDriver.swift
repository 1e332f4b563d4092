import ConcurrencyPrimitives
import Digests
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Transfer

/// Performs the actions of a ``FetchMachine`` in one task for each fetch. All fetches use it.
struct FetchDriver {
    private let fetcher: Fetcher
    private let resolved: ResolvedRequest
    private let task: FetchPool.SharedTask
    private let consumer: Fetcher.Consumer
    private let isShared: Bool
    /// True if the origin is to confirm the stored responses.
    private let isRevalidation: Bool
    /// The outcome of a look-up before the fetch.
    private let lookedUp: LookedUp?
    private var machine: FetchMachine

    private let began: Date
    /// The resource's generation that the current request belongs to.
    private var generation: Generation
    private var lock: ByteLock?
    /// The number of this fetch among the running ones.
    private var running: UInt64?
    /// The file that was opened or stored last.
    private var file: CachedFile?

    // The part of the tier in this fetch, if there is one, and its result.
    private let shared: (any TierFetch)?
    private var found: TierFinding?

    // The response of the origin.
    private var sink: ResponseSink?
    private var result: TransferResult?
    private var forwardStatus: Int?
    /// Bytes that crossed the network, over all requests.
    private var received: Int64 = 0
    /// The digest that the response announced, if a body with it seems to be stored.
    private var announced: Digest?
    private var mayReuseBodies = true
    private var joinsByDigest = true

    private var fetch: Fetch { task.context }
    private var conditional: ConditionalRequest { machine.conditional }
    private var status: CacheStatus {
        var status = conditional.status
        status.forwardStatus = forwardStatus
        return status
    }

    /// - Parameters:
    ///   - generation: The generation in which the request begins; `nil` for the current one.
    ///   - status: The handling of a request that is passed through.
    init(
        _ resolved: ResolvedRequest, _ task: FetchPool.SharedTask, for consumer: Fetcher.Consumer,
        _ mode: FetchMachine.Mode, in generation: Generation? = nil, status: CacheStatus? = nil,
        knowing lookedUp: LookedUp? = nil, by fetcher: Fetcher
    ) {
        self.fetcher = fetcher
        self.resolved = resolved
        self.task = task
        self.consumer = consumer
        self.lookedUp = lookedUp
        isShared = mode == .shared
        isRevalidation = resolved.cacheRequest.policy == .reloadRevalidatingCacheData
        shared = fetcher.tier?.join(
            FetchAccess(resolved: resolved, task: task, consumer: consumer, fetcher: fetcher))
        machine = FetchMachine(
            resolved, for: consumer, mode, by: fetcher.rules, usesRemote: shared?.mayFind == true, status: status)
        began = fetcher.now()
        self.generation = generation ?? fetcher.store.generation(of: resolved.url)
    }

    mutating func run() async throws(ImageCacheError) -> CachedFile {
        defer { release() }
        var event = FetchEvent.began
        while let action = machine.received(event) {
            if case .end(let end) = action { return try finish(end) }
            guard !action.isSkippedWhenCancelled || !Task.isCancelled else {
                event = .cancelled
                continue
            }
            do throws(ImageCacheError) { event = try await perform(action) } catch { event = .failed(error) }
        }
        throw .cancelled
    }

    private mutating func perform(_ action: FetchAction) async throws(ImageCacheError) -> FetchEvent {
        switch action {
        case .lookUp(let purpose): return try lookUp(purpose)
        case .lock:
            lock = try fetcher.tryLock(resolved)
            if lock == nil { return .busy }
            // Another fetch may have stored the response and released the lock since the look-up.
            return fetcher.store.isCurrent(generation) ? .locked : .lockedAfterChange
        case .follow: return try await follow()
        case .wait(let waiting):
            noteWait()
            lock = try await fetcher.lock(resolved, waiting)
            return lock == nil ? .busy : .locked
        case .askRemote: return try await askRemote()
        case .askOrigin(let attempt): return try await askOrigin(attempt)
        case .compareStored: return try compareStored()
        case .confirm: return try await confirm()
        case .renew, .store:
            do throws(ImageCacheError) {
                if case .renew = action { return try await renew() }
                return try await store()
            } catch {
                storingFailed(error)
                throw error
            }
        case .readPin:
            return .pin(maxStale: (try? fetcher.store.pinnedMaxStale(resolved.key)) ?? nil, at: fetcher.now())
        case .openStale(let index): return try openStale(conditional.candidates[index])
        case .end: return .cancelled
        }
    }

    // MARK: The store

    private mutating func lookUp(_ purpose: FetchLookUp) throws(ImageCacheError) -> FetchEvent {
        var wait: Fetcher.KeyWait?
        var known: LookedUp?
        switch purpose {
        case .first:
            if let lookedUp, fetcher.store.isCurrent(lookedUp.generation) {
                (known, generation) = (lookedUp, lookedUp.generation)
            } else {
                generation = fetcher.store.generation(of: resolved.url)
            }
        case .afterWait:
            generation = fetcher.store.generation(of: resolved.url)
            wait = Fetcher.KeyWait(began: began, known: conditional.candidates, status: conditional.status)
        case .remote: break
        case .later:
            let requested = file?.response.requestTime ?? began
            file = try fetcher.stored(since: Fetcher.KeyWait(began: requested, status: status), resolved)
            return .lookedUp(file == nil ? .notCached : .hit())
        }
        let found = try RequestSteps.record(.lookUp) { () throws(ImageCacheError) in
            try fetcher.lookUp(resolved, known, after: wait)
        }
        let isRemote = purpose == .remote && noteRemote(found)
        switch found {
        case .hit(let hit, let needsRevalidation):
            file = isRemote ? hit.fromRemote : hit
            return .lookedUp(.hit(needsRevalidation: needsRevalidation))
        case .miss(let conditional): return .lookedUp(.miss(conditional))
        case .notCached: return .lookedUp(.notCached)
        }
    }

    private mutating func openStale(_ candidate: StoredCandidate) throws(ImageCacheError) -> FetchEvent {
        var status = status
        status.detail = StaleReason.originFailed.detail
        status.timeToLive = fetcher.remainingLifetime(of: candidate.record.response, resolved)
        file = try fetcher.open(candidate, for: resolved, as: .stale, status, bytesTransferred: received)
        guard file != nil else { return .evicted }
        // Readers that have the head, or bytes, of the response that was cut must not get the rest of this one.
        fetch.bodyProgress.restart()
        return .opened
    }

    // MARK: Other fetches

    private func noteWait() {
        fetch.report { $0.phase = .waitingForOther }
        fetcher.fetches.raise(resolved.key, to: resolved.request.priority)
    }

    /// Answers from the body of another fetch of this process, such as a thumbnail's original.
    private mutating func follow() async throws(ImageCacheError) -> FetchEvent {
        noteWait()
        guard let other = fetcher.fetches.running(resolved.key, in: generation.epoch),
            let subscription = fetcher.pool.join(other.task)
        else { return .notFollowable }
        guard let followable = await subscription.context.followable.value() else { throw .cancelled }
        guard let followable, case .complete(let length?) = followable.response.extent,
            FetchTerms(resolved).mayFollow(other.terms, length: length),
            fetcher.rules.variantKey(of: resolved.cacheRequest.fields, for: followable.response.fields) != nil,
            fetcher.rules.isSelected(followable.response, by: resolved.cacheRequest.fields),
            // Otherwise a redirect that one of them follows is the other's response.
            resolved.cacheRequest.followsRedirects
                ? followable.response.status.kind != .redirection : followable.response.redirects.isEmpty
        else { return .notFollowable }
        var status = conditional.status
        status.forwardStatus = followable.response.status.code
        status.stored = true
        status.collapsed = true
        fetch.start.fulfill(
            .live(
                followable.response.withEmptyCookies, status, version: followable.version,
                subscription.context.bodyProgress))
        // Readers have the head, so a failure of the other fetch also ends this one.
        file = try await subscription.value().sharing(true)
        return .followed
    }

    /// Lets requests of this process find this fetch by its key.
    private mutating func announceRunning() {
        guard isShared, running == nil else { return }
        running = fetcher.fetches.begin(resolved, task, generation.epoch)
    }

    private mutating func release() {
        if let running { fetcher.fetches.end(resolved.key, running) }
        lock?.release()
    }

    // MARK: Other machines

    private mutating func askRemote() async throws(ImageCacheError) -> FetchEvent {
        announceRunning()
        guard let shared else { return .remoteMissed }
        let found = try await shared.find(in: generation)
        self.found = found
        if found.entry != nil { return .remoteStored }
        if found.wasAsked { shared.noteLookUp(found.hasParts) }
        return .remoteMissed
    }

    /// Returns true if the response of the tier can be used, and counts that.
    private func noteRemote(_ lookup: Fetcher.LookupResult) -> Bool {
        guard let found else { return false }
        let isHit =
            switch lookup {
            case .hit(let file, _): file.body.entry.id == found.entry
            case .miss(let conditional): conditional.candidates.contains { $0.entry.id == found.entry }
            case .notCached: found.hasParts
            }
        if found.wasAsked { shared?.noteLookUp(isHit) }
        return isHit
    }

    // MARK: The origin

    private mutating func askOrigin(_ attempt: OriginAttempt) async throws(ImageCacheError) -> FetchEvent {
        prepare(attempt)
        let request = OriginRequest(
            resolved: resolved, conditional: conditional, generation: generation, task: task, consumer: consumer,
            lock: lock, shared: shared, mayReuseBodies: mayReuseBodies, joinsByDigest: joinsByDigest)
        let sink = try ResponseSink(request, by: fetcher)
        self.sink = sink
        do throws(TransferError) {
            let result = try await transfer(conditional, into: sink)
            self.result = result
            return await ended(result, sink)
        } catch {
            return failed(error, sink)
        }
    }

    private mutating func prepare(_ attempt: OriginAttempt) {
        switch attempt {
        case .first:
            announceRunning()
            fetcher.sweeper?.startOnce()
            shared?.beginOrigin()
        // Readers of the file may have got blocks that were altered.
        case .repair: fetch.bodyProgress.restart()
        case .fromStart:
            joinsByDigest = false
            fetch.bodyProgress.restart()
            fetch.trace.notify("* starting over: the joined body has another digest\n")
        case .withoutStoredBodies: mayReuseBodies = false
        case .unconditional, .withoutPartial: break
        }
        forwardStatus = nil
    }

    private func transfer(
        _ conditional: ConditionalRequest?, into sink: any BodySink
    ) async throws(TransferError) -> TransferResult {
        let fetch = fetch
        return try await fetcher.sources.transport(for: resolved.request, of: fetch).run(
            resolved.transferRequest(conditional, for: fetch), into: sink,
            events: { [resolved] in resolved.report($0, to: fetch) })
    }

    private mutating func ended(_ result: TransferResult, _ sink: ResponseSink) async -> FetchEvent {
        received += result.bytesReceived
        self.result?.bytesReceived = received
        forwardStatus = result.head.status.code
        let (fetcher, resolved, former) = (fetcher, resolved, generation)
        generation = await fetch.invalidateOnce { fetcher.invalidate(after: result.head, resolved, former) }
        if let passed = sink.passthrough {
            passed.finish(.success(()))
            sink.keepPartials()
            removeGone(after: result.head)
            return .passedThrough
        }
        if consumer.isPassthrough, sink.target == nil {
            // A response without content, such as one to HEAD.
            fetch.start.fulfill(.head(result.head.passthroughHead, status))
            return .passedThrough
        }
        switch result.outcome {
        case .body: return .bodyEnded(isOutdated: !fetcher.store.isCurrent(generation.epoch))
        case .notModified:
            sink.discard()
            return .notModified
        case .status:
            sink.keepPartials()
            removeGone(after: result.head)
            return .errorStatus(result.head.status, .failure(result, resolved), at: fetcher.now())
        }
    }

    private mutating func failed(_ error: TransferError, _ sink: ResponseSink) -> FetchEvent {
        received += error.bytesReceived
        if let digest = (error.cause as? EqualBodyIsStored)?.digest {
            sink.keepPartials()
            announced = digest
            return .announcedStoredBody
        }
        if error.cause is ResponseSink.NoRoomForRest {
            sink.discard()
            return .partialDropped
        }
        sink.passthrough?.finish(.failure(ImageCacheError(error)))
        if (error.cause as? StoreError)?.code == .tooLarge { sink.discard() } else { sink.keepPartials() }
        guard let head = (error.cause as? ResponseSink.StaleIsBetter)?.head else {
            return .originFailed(error.explained(by: sink.target?.download.obstacle))
        }
        forwardStatus = head.status.code
        return .errorStatus(head.status, ImageCacheError(error), at: fetcher.now())
    }

    private mutating func compareStored() throws(ImageCacheError) -> FetchEvent {
        file = try announced.flatMap { digest throws(ImageCacheError) in try fetcher.deduplicatedBody(digest, resolved)
        }
        file?.bytesTransferred = received
        return .compared(isEqual: file != nil)
    }

    private mutating func confirm() async throws(ImageCacheError) -> FetchEvent {
        let (result, _) = try response()
        file = try await fetcher.confirm(result, conditional, resolved)
        return file == nil ? .evicted : .confirmed
    }

    // MARK: A whole body

    private func response() throws(ImageCacheError) -> (TransferResult, ResponseSink) {
        guard let result, let sink else { throw .withoutResponse(resolved) }
        return (result, sink)
    }

    /// Lets the origin confirm the received body by its validator. Without a validator the body is sent again.
    private mutating func renew() async throws(ImageCacheError) -> FetchEvent {
        guard let target = sink?.target else { throw .withoutResponse(resolved) }
        generation = fetcher.store.generation(of: resolved.url)
        target.writer.epoch = generation.epoch
        let renewed: TransferResult
        do throws(TransferError) { renewed = try await transfer(nil, into: target.download) } catch {
            received += error.bytesReceived
            target.download.keepPartial()
            var failure = ImageCacheError(error)
            failure.bytesTransferred = received
            throw failure
        }
        received += renewed.bytesReceived
        self.result?.bytesReceived = received
        guard case .body = renewed.outcome else {
            target.download.keepPartial()
            throw .failure(renewed, resolved)
        }
        return .bodyEnded(isOutdated: !fetcher.store.isCurrent(generation.epoch))
    }

    private mutating func store() async throws(ImageCacheError) -> FetchEvent {
        let (result, sink) = try response()
        guard let target = sink.target else { throw .withoutResponse(resolved) }
        fetch.report { $0.phase = .storing }
        let stored: CachedFile
        do throws(ImageCacheError) {
            stored = try await RequestSteps.record(.store) { () async throws(ImageCacheError) in
                try await fetcher.store(
                    result, sink: target.download, writer: target.writer, resolved: resolved, status, generation)
            }
        } catch {
            guard error.code == .wrongBytes, !error.isOfAlteredPartial, target.download.isJoinedByDigest else {
                throw error
            }
            return .joinedWrongly(error)
        }
        sink.leaveOther()
        file = fetcher.replace(conditional, by: stored, resolved)
        if !stored.isStored { removeGone(after: result.head) }
        return stored.isStored ? .committed : .outdated
    }

    /// Removes the stored responses if the origin, asked to confirm them, says that the resource is gone: otherwise they would be served again.
    private func removeGone(after head: ResponseHead) {
        if isRevalidation, head.status == .notFound || head.status == .gone, isOfOwnOrigin(head) {
            fetcher.remove(conditional.candidates, of: resolved)
        }
    }

    /// False for the response of a mirror, which may lack a file that the origin has.
    private func isOfOwnOrigin(_ head: ResponseHead) -> Bool {
        let request = resolved.request
        if request.mirrors.isEmpty, !request.usesAnnouncedMirrors { return true }
        let asked = head.redirects.first?.url ?? head.finalURL
        return fetcher.rules.signatures.isSameResource(asked, request.urlWithoutUserinfo)
    }

    private func storingFailed(_ error: ImageCacheError) {
        // The remaining bytes of a partial that was altered on disk differ from the response: readers do not get them.
        if error.isOfAlteredPartial { sink?.keepPartials() }
        guard !consumer.isFile else { return }
        fetcher.warnings.note(error)
        if !error.isOfAlteredPartial { sink?.publishUnstored() }
    }

    // MARK: Ends

    private mutating func finish(_ end: FetchEnd) throws(ImageCacheError) -> CachedFile {
        var failure: ImageCacheError?
        switch end {
        case .serve: break
        case .serveAndRevalidate: fetcher.revalidateInBackground(resolved)
        case .fail(let error): (file, failure) = (nil, error)
        }
        shared?.end(with: file, failure)
        if let file { return file }
        throw failure ?? .withoutResponse(resolved)
    }
}

extension ImageCacheError {
    /// The error of a response with an error status.
    static func failure(_ result: TransferResult, _ resolved: ResolvedRequest) -> ImageCacheError {
        let status = result.head.status
        let reason = status.reasonPhrase.isEmpty ? "\(status.code)" : "\(status.code) \(status.reasonPhrase)"
        let retries = result.retriesEnded.map { " (\($0))" } ?? ""
        return ImageCacheError(
            .status(status.code), url: resolved.request.url, message: "the server answered \(reason)\(retries)")
    }

    static func withoutResponse(_ resolved: ResolvedRequest) -> ImageCacheError {
        ImageCacheError(.wrongBytes, url: resolved.url, message: "the transfer ended without a response")
    }
}

extension TransferError {
    /// The error of a transfer that failed in the middle of a body, with the reason why the body cannot be continued.
    fileprivate func explained(by obstacle: String?) -> TransferError {
        guard let obstacle, isRetryable, bytesReceived > 0 else { return self }
        var error = self
        error.message += "; \(obstacle)"
        return error
    }
}
