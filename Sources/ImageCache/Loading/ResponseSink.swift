import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// Takes a response for whoever waits for it: into the store where it may be kept, past it to one reader where not.
///
/// A response for a file always goes into the store's hands: what must not be kept is handed out there as a file of nobody's, or
/// refused, as the request says (``FileRequest/unstorable``).
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

    private let resolved: ResolvedRequest
    private let rules: CacheRules
    private let fetch: Fetch
    /// How the cache came to ask.
    private let status: CacheStatus
    private let isForFile: Bool
    /// For a response 200; another one must not touch what is held of it.
    private let whole: Storing?
    private let makeStoring: () throws -> Storing
    private let warnings: StoreWarnings?
    private let mayServeStale: (HTTPResponse.Status) -> Bool
    private let mayStore: (HTTPResponse.Status) -> Bool
    private let began: (ResponseStart) -> Void
    private var transfer: (any TransferControl)?
    /// Where the present body goes.
    private(set) var target: Storing?
    private(set) var passed: PassedBody?
    private var hasBegun = false

    /// - Parameters:
    ///   - isForFile: Whether a file is wanted: nothing is passed on.
    ///   - whole: Where the file goes; `nil`: everything is passed on.
    ///   - warnings: Told what does not get into the store.
    ///   - makeStoring: Makes the place for a body with another status.
    ///   - mayServeStale: Whether something stale is better than that status.
    ///   - mayStore: Whether a response with that status may be stored beside what is stored.
    ///   - status: How the cache came to ask.
    ///   - began: Told once, during the transfer.
    init(
        resolved: ResolvedRequest, rules: CacheRules, fetch: Fetch, status: CacheStatus, isForFile: Bool = false,
        whole: Storing? = nil,
        makeStoring: @escaping () throws -> Storing = { throw CancellationError() },
        warnings: StoreWarnings? = nil, mayServeStale: @escaping (HTTPResponse.Status) -> Bool = { _ in false },
        mayStore: @escaping (HTTPResponse.Status) -> Bool = { _ in true },
        began: @escaping (ResponseStart) -> Void
    ) {
        self.resolved = resolved
        self.rules = rules
        self.fetch = fetch
        self.status = status
        self.isForFile = isForFile
        self.whole = whole
        self.makeStoring = makeStoring
        self.warnings = warnings
        self.mayServeStale = mayServeStale
        self.mayStore = mayStore
        self.began = began
    }

    func attach(_ transfer: any TransferControl) {
        self.transfer = transfer
        fetch.attach(transfer, priority: resolved.request.priority)
    }

    func held() -> HeldPartial? { passed == nil ? whole?.download.held() : nil }

    /// Whoever reads has the head, and perhaps some bytes: there is no second beginning, only a continuation.
    func takesAnother() -> Bool {
        guard hasBegun else { return true }
        guard passed == nil, target?.writer === whole?.writer, let held = held() else { return false }
        return held.missing.first?.lowerBound != 0
    }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        if isForFile, let whole {
            target = whole
            return try whole.download.begin(head, placement)
        }
        if head.status.kind == .serverError, mayServeStale(head.status) { throw StaleIsBetter(head: head) }
        guard isStorable(head, placement), let storing = storing(for: head), passed == nil else {
            // Nobody would read another one that is passed on.
            guard !hasBegun else {
                throw ImageCacheError(
                    .unreachable, url: resolved.url, message: "the answer was cut, and cannot be continued by another")
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
        var status = status
        status.forwardStatus = response.status.code
        status.stored = true
        began(.growing(response.withLength(of: placement), status, version: fetch.growth.version, fetch.growth))
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> SinkVerdict {
        if let passed { return passed.write(bytes) }
        return try noting { try target?.download.write(bytes) ?? .taken }
    }

    func lull() {
        if passed == nil { target?.download.lull() }
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

    /// What is held of a response 200 stays when another one was stored.
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
        guard head.status != .partialContent, mayStore(head.status) else { return false }
        // What is refused to one token is none of another's.
        guard resolved.isKeyOfOwn || head.status.kind == .successful else { return false }
        let response = HTTPResponse(status: head.status, headerFields: head.fields)
        return rules.storability(of: response, to: resolved.cacheRequest, receivedAt: head.responseTime).isStorable
            // `Vary: *` answers nobody else.
            && rules.variantKey(of: resolved.cacheRequest.fields, for: head.fields) != nil
    }

    private func storing(for head: ResponseHead) -> Storing? {
        if let whole, head.status == .ok || head.status == .partialContent { return whole }
        return try? makeStoring()
    }

    private func pass(_ head: ResponseHead) {
        // At once: whoever asks next may be answered with the file, and continue it.
        leavePartials()
        fetch.followable.fulfill(nil)
        let body = PassedBody()
        if let transfer { body.attach(transfer) }
        passed = body
        hasBegun = true
        var status = status
        status.forwardStatus = head.status.code
        began(.passed(head.passedOn, status, body))
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
