import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// Receives the response to an ``OriginRequest``. A body that may be stored is written to the store, another one is forwarded to one reader.
///
/// A response for a file is always written to a file of the store. If it must not be kept, it becomes a transient file or is refused, depending on
/// ``FileRequest/noStoreBehavior``.
///
/// `@unchecked Sendable`: the caller of `HTTPTransport.run` uses it before and after the call, the transport during it. `BodySink` guarantees that
/// calls do not overlap.
final class ResponseSink: BodySink, @unchecked Sendable {
    /// The destination of a body that may be stored.
    struct Storing {
        var download: DownloadSink
        var writer: BodyWriter
    }

    /// Ends a transfer whose error status is replaced by a stale response.
    struct StaleIsBetter: Error {
        var head: ResponseHead
    }

    /// Ends a transfer that would continue a partial, because the store has no room for the rest. The head and the rest alone are no response.
    struct NoRoomForRest: Error {}

    private let fetcher: Fetcher
    private let request: OriginRequest
    /// The destination of a 200 response. Other responses must not change its partial. `nil` if the response is forwarded to one client.
    private let whole: Storing?
    private var transfer: (any TransferControl)?
    /// The destination of the current body.
    private(set) var target: Storing?
    private(set) var passthrough: PassthroughBody?
    private var hasBegun = false

    private var resolved: ResolvedRequest { request.resolved }
    private var fetch: Fetch { request.fetch }
    /// Receives the errors of the store; `nil` for a file, whose consumer receives the error itself.
    private var warnings: StoreWarnings? { request.consumer.isFile ? nil : fetcher.warnings }

    init(_ request: OriginRequest, by fetcher: Fetcher) throws(ImageCacheError) {
        self.fetcher = fetcher
        self.request = request
        // The first bytes may have come from the shared store.
        hasBegun = request.fetch.start.settled() != nil
        whole =
            request.consumer.isPassthrough ? nil : try request.storing(under: request.resolved.partialKey, by: fetcher)
        try beginWithFiles()
    }

    /// Begins with bytes that the files of the request already have.
    private func beginWithFiles() throws(ImageCacheError) {
        let file = resolved.request
        guard let whole, request.joinsByDigest else { return }
        if let seed = file.seed {
            try whole.download.begin(with: seed, at: fetcher.now())
        } else if let path = file.adoptedFile, request.conditional.candidates.isEmpty {
            try whole.download.begin(with: path, at: fetcher.now())
        }
    }

    func attach(_ transfer: any TransferControl) {
        self.transfer = transfer
        fetch.attach(transfer, priority: resolved.request.priority)
    }

    func held() -> HeldPartial? { passthrough == nil ? whole?.download.held() : nil }

    func heldBytes(_ range: Range<Int64>) -> [UInt8]? { whole?.download.heldBytes(range) }

    func verifyBody() throws { if passthrough == nil { try target?.download.verifyBody() } }

    /// Returns false if a reader already has the head and the transfer could only restart at byte 0.
    func canRestart() -> Bool {
        guard hasBegun else { return true }
        guard passthrough == nil, target == nil || target?.writer === whole?.writer, let held = held() else {
            return false
        }
        return held.missing.first?.lowerBound != 0
    }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        if request.consumer.isFile, let whole {
            if case .whole = placement, request.mayReuseBodies,
                let digest = try fetcher.digestOfEqualBody(head, resolved)
            {
                throw EqualBodyIsStored(digest: digest)
            }
            target = whole
            return try whole.download.begin(head, placement)
        }
        if head.status.kind == .serverError, request.mayServeStale(after: head.status, by: fetcher) {
            throw StaleIsBetter(head: head)
        }
        guard isStorable(head, placement), let storing = storing(for: head), passthrough == nil else {
            // The reader of the first response cannot receive another one.
            guard !hasBegun else {
                throw ImageCacheError(
                    .unreachable, url: resolved.url, message: "the response was cut, and cannot be continued by another"
                )
            }
            return pass(head)
        }
        do {
            try storing.download.begin(head, placement)
        } catch let error as StoreError where !hasBegun && error.code != .incomplete && error.code != .wrongLength {
            // The body is too large, or the disk is full. The client still receives the body.
            warnings?.note(ImageCacheError(error))
            guard case .whole = placement else { throw NoRoomForRest() }
            return pass(head)
        }
        target = storing
        guard !hasBegun, let response = storing.download.record?.response else { return }
        hasBegun = true
        var status = request.conditional.status
        status.forwardStatus = response.status.code
        // A response that continues a partial may say that what it completes must not be stored.
        status.stored = storing.download.isStorable
        announce(
            .live(response.withLength(of: placement), status, version: fetch.bodyProgress.version, fetch.bodyProgress))
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        if let passthrough { return passthrough.write(bytes) }
        return try noting { try target?.download.write(bytes) ?? .accepted }
    }

    /// Segments are allowed only for a 200 response that is stored.
    var segmentUnit: Int64? {
        passthrough == nil && target?.writer === whole?.writer ? target?.download.segmentUnit : nil
    }

    var segmentLimit: Int64? { target?.download.segmentLimit }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws {
        try noting { try target?.download.write(bytes, at: offset) }
    }

    func writeBatchComplete() {
        if passthrough == nil { target?.download.writeBatchComplete() }
    }

    func end(_ ending: AttemptEnding) throws {
        guard passthrough == nil, let storing = target ?? whole else { return }
        do { try noting { try storing.download.end(ending) } } catch {
            if ending == .complete { publishUnstored() }
            throw error
        }
    }

    /// Makes a whole body that is not stored available to its followers.
    func publishUnstored() {
        if let storing = target ?? whole { fetch.bodyProgress.advance(by: storing.writer, isWhole: true) }
    }

    /// Keeps the partial of a 200 response if another response was stored.
    func leaveOther() {
        if let whole, target?.writer !== whole.writer { whole.download.keepPartial() }
    }

    private func noting<Result>(_ work: () throws -> Result) throws -> Result {
        do { return try work() } catch let error as StoreError {
            warnings?.note(ImageCacheError(error))
            throw error
        }
    }

    /// Keeps the partial of a 200 response if it can be resumed. Discards the body of another response.
    func keepPartials() {
        whole?.download.keepPartial()
        if let target, target.writer !== whole?.writer { try? target.writer.discard() }
    }

    /// Discards the received bytes to free their space.
    func discard() {
        for writer in [whole?.writer, target?.writer].compactMap({ $0 }) { try? writer.discard() }
    }

    private func isStorable(_ head: ResponseHead, _ placement: BodyPlacement) -> Bool {
        guard case .whole = placement else { return true }
        // A 206 that was not requested is not a whole file, and answers no later request.
        guard head.status != .partialContent, request.mayStore(head.status, by: fetcher) else { return false }
        // An error for one URL does not answer other URLs with the same key, such as those with another token.
        guard resolved.isKeyOfOwn || head.status.kind == .successful else { return false }
        let response = HTTPResponse(status: head.status, headerFields: head.fields)
        let rules = fetcher.rules
        let storability = rules.storability(
            of: response, to: resolved.cacheRequest, redirects: head.storedRedirects, receivedAt: head.responseTime)
        return storability.isStorable
            // `Vary: *` matches no other request.
            && rules.variantKey(of: resolved.cacheRequest.fields, for: head.fields) != nil
    }

    private func storing(for head: ResponseHead) -> Storing? {
        if let whole, head.status == .ok || head.status == .partialContent { return whole }
        // Among the responses for one client, the response to a POST may answer a later GET (RFC 9110 section 9.3.3).
        guard !request.consumer.isPassthrough || resolved.request.method == .post else { return nil }
        return try? request.storing(under: EntryKey(.errorResponse(resolved.requestKey)), by: fetcher)
    }

    private func pass(_ head: ResponseHead) {
        // The partial is released before the body ends, because a later request may receive the file and resume the partial.
        keepPartials()
        fetch.followable.fulfill(nil)
        let body = PassthroughBody()
        if let transfer { body.attach(transfer) }
        passthrough = body
        hasBegun = true
        var status = request.conditional.status
        status.forwardStatus = head.status.code
        announce(.passthrough(head.passthroughHead, status, body))
    }

    /// Publishes the response's start, and decides which requests may join from now on.
    private func announce(_ start: ResponseStart) {
        if case .response(_, let publishing) = request.consumer {
            // A response that is not stored answers no later request, in this process or another.
            if !start.isForOthers {
                request.lock?.release()
                fetcher.pool.withdraw(request.task)
            } else if let publishing {
                fetcher.pool.publish(request.task, under: publishing)
            }
        }
        fetch.start.fulfill(start)
    }
}

extension ResponseHead {
    /// The head of a forwarded response (RFC 9110 section 7.6.1).
    var passthroughHead: HTTPResponse {
        HTTPResponse(status: status, headerFields: fields.endToEnd())
    }
}

extension StoredResponse {
    /// The response with the length that its head announced, before the body has arrived.
    func withLength(of placement: BodyPlacement) -> StoredResponse {
        var response = self
        switch placement {
        case .whole(let length): response.extent = .complete(length: length)
        case .range(_, let total), .alreadyComplete(let total):
            response.extent = .complete(length: total)
            response.status = .ok
        }
        return response
    }
}
