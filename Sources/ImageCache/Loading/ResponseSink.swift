import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// Receives the response to an ``OriginRequest``: into the store where it may be kept, past it to one reader where not.
///
/// A response for a file always enters the store's files: one that must not be kept becomes a transient file, or is refused, as the
/// request says (``FileRequest/noStoreBehavior``).
///
/// `@unchecked Sendable`: used before and after `HTTPTransport.run` by the one who runs it, during it by the
/// transport, as `BodySink` guarantees.
final class ResponseSink: BodySink, @unchecked Sendable {
    /// Where a body that may be stored goes.
    struct Storing {
        var download: DownloadSink
        var writer: BodyWriter
    }

    /// An error status in whose place something stale is served.
    struct StaleIsBetter: Error {
        var head: ResponseHead
    }

    private let fetcher: Fetcher
    private let request: OriginRequest
    /// For a response 200; another one must not touch what is held of it. `nil`: the request is one client's own.
    private let whole: Storing?
    private var transfer: (any TransferControl)?
    /// Where the present body goes.
    private(set) var target: Storing?
    private(set) var passed: PassedBody?
    private var hasBegun = false

    private var resolved: ResolvedRequest { request.resolved }
    private var fetch: Fetch { request.fetch }
    /// Told what does not get into the store; the consumer of a file sees the error itself.
    private var warnings: StoreWarnings? { request.consumer.isFile ? nil : fetcher.warnings }

    init(_ request: OriginRequest, by fetcher: Fetcher) throws(ImageCacheError) {
        self.fetcher = fetcher
        self.request = request
        // Its first bytes may have come from the remote store.
        hasBegun = request.fetch.start.settled() != nil
        whole =
            request.consumer.isOneClient ? nil : try request.storing(under: request.resolved.partialKey, by: fetcher)
    }

    func attach(_ transfer: any TransferControl) {
        self.transfer = transfer
        fetch.attach(transfer, priority: resolved.request.priority)
    }

    func held() -> HeldPartial? { passed == nil ? whole?.download.held() : nil }

    func heldBytes(_ range: Range<Int64>) -> [UInt8]? { whole?.download.heldBytes(range) }

    func verifyBody() throws { if passed == nil { try target?.download.verifyBody() } }

    /// Whoever reads has the head, and perhaps some bytes: there is no second beginning, only a continuation.
    func canRestart() -> Bool {
        guard hasBegun else { return true }
        guard passed == nil, target == nil || target?.writer === whole?.writer, let held = held() else { return false }
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
        guard isStorable(head, placement), let storing = storing(for: head), passed == nil else {
            // Nobody would read another one that is passed on.
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
            // Too large, or the disk is full: whoever asked gets it all the same.
            warnings?.note(ImageCacheError(error))
            return pass(head)
        }
        target = storing
        guard !hasBegun, let response = storing.download.record?.response else { return }
        hasBegun = true
        var status = request.conditional.status
        status.forwardStatus = response.status.code
        status.stored = true
        announce(.growing(response.withLength(of: placement), status, version: fetch.growth.version, fetch.growth))
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        if let passed { return passed.write(bytes) }
        return try noting { try target?.download.write(bytes) ?? .accepted }
    }

    /// A response 200 that goes into the store is written wherever its bytes belong.
    var segmentUnit: Int64? {
        passed == nil && target?.writer === whole?.writer ? target?.download.segmentUnit : nil
    }

    var segmentLimit: Int64? { target?.download.segmentLimit }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws {
        try noting { try target?.download.write(bytes, at: offset) }
    }

    func writeBatchComplete() {
        if passed == nil { target?.download.writeBatchComplete() }
    }

    func end(_ ending: AttemptEnding) throws {
        guard passed == nil, let storing = target ?? whole else { return }
        do { try noting { try storing.download.end(ending) } } catch {
            if ending == .complete { giveUnstored() }
            throw error
        }
    }

    /// All of it came, and does not get into the store: whoever follows it gets it all the same.
    func giveUnstored() {
        if let storing = target ?? whole { fetch.growth.advance(by: storing.writer, isWhole: true) }
    }

    /// Keeps the partial of a response 200 if another response was stored.
    func leaveOther() {
        if let whole, target?.writer !== whole.writer { whole.download.leavePartial() }
    }

    private func noting<Result>(_ work: () throws -> Result) throws -> Result {
        do { return try work() } catch let error as StoreError {
            warnings?.note(ImageCacheError(error))
            throw error
        }
    }

    /// The bytes of an attempt that was cut stay for the next one; what is nobody's goes.
    func leavePartials() {
        whole?.download.leavePartial()
        if let target, target.writer !== whole?.writer { try? target.writer.discard() }
    }

    /// Drops what came: it can never be stored, and would keep its room from others.
    func discard() {
        for writer in [whole?.writer, target?.writer].compactMap({ $0 }) { try? writer.discard() }
    }

    private func isStorable(_ head: ResponseHead, _ placement: BodyPlacement) -> Bool {
        guard case .whole = placement else { return true }
        // A part that nobody asked for is no file, and no answer to whoever comes later.
        guard head.status != .partialContent, request.mayStore(head.status, by: fetcher) else { return false }
        // A refusal of one token is no response to another.
        guard resolved.isKeyOfOwn || head.status.kind == .successful else { return false }
        let response = HTTPResponse(status: head.status, headerFields: head.fields)
        let rules = fetcher.rules
        return rules.storability(of: response, to: resolved.cacheRequest, receivedAt: head.responseTime).isStorable
            // `Vary: *` answers nobody else.
            && rules.variantKey(of: resolved.cacheRequest.fields, for: head.fields) != nil
    }

    private func storing(for head: ResponseHead) -> Storing? {
        if let whole, head.status == .ok || head.status == .partialContent { return whole }
        // Of one client's own responses, a POST's may answer a later GET (RFC 9110 section 9.3.3).
        guard !request.consumer.isOneClient || resolved.request.method == .post else { return nil }
        return try? request.storing(under: EntryKey(.errorResponse(resolved.requestKey)), by: fetcher)
    }

    private func pass(_ head: ResponseHead) {
        // At once: whoever asks next may be answered with the file, and continue it.
        leavePartials()
        fetch.followable.fulfill(nil)
        let body = PassedBody()
        if let transfer { body.attach(transfer) }
        passed = body
        hasBegun = true
        var status = request.conditional.status
        status.forwardStatus = head.status.code
        announce(.passed(head.passedOn, status, body))
    }

    /// Gives those who wait the response's start, and decides who may join from now on.
    private func announce(_ start: ResponseStart) {
        if case .response(_, let publishing) = request.consumer {
            // A response that is not stored is of no use to later requests, in this process or another.
            if case .passed = start {
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
    /// The head of a response that is passed on (RFC 9110 section 7.6.1).
    var passedOn: HTTPResponse {
        HTTPResponse(status: status, headerFields: fields.endToEnd())
    }
}

extension StoredResponse {
    /// With the length that the answer's head told: its body has yet to come.
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
