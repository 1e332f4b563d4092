import ConcurrencyPrimitives
import Digests
import DiskStore
import FoundationEssentials
import Glibc
import HTTPCaching
import HTTPTypes
import Transfer

/// Writes the body of a transfer to the store. Decides at each response head whether the body may be kept, and resumes the partial that an earlier
/// transfer left.
///
/// `@unchecked Sendable`: the fetcher uses it before and after `HTTPTransport.run`, the transport during it. `BodySink` guarantees that calls do
/// not overlap.
final class DownloadSink: BodySink, @unchecked Sendable {
    /// The number of bytes by which additional connections may run ahead of the bytes that readers can receive.
    private static let readAhead: Int64 = 16 << 20

    private let resolved: ResolvedRequest
    private let rules: CacheRules
    private let writer: BodyWriter
    private let fetch: Fetch
    /// Uploads the parts of a large body; `nil` if they are not shared.
    private let sharing: (any TierBody)?
    private var bodyProgress: BodyProgress { fetch.bodyProgress }

    /// The response that the writer's bytes belong to; `nil` if there are none, or if they cannot be resumed.
    private(set) var record: ResponseRecord? { didSet { encoded = nil } }
    /// ``record`` as it is stored, if it was encoded already.
    private(set) var encoded: [UInt8]?
    /// True if the response may be stored for other requests.
    private(set) var isStorable = true
    /// True if the response has no strong validator, so that only the digest that the request expects can prove a body with later bytes.
    private var isProvedByDigest = false
    /// True if such bytes were joined: a wrong digest may mean that they come from two versions.
    private(set) var isJoinedByDigest = false
    /// False after a body that was joined in this way had the wrong digest.
    private let joinsByDigest: Bool
    /// True if the held bytes come from a file that had no response.
    private var isAdopted = false
    /// The validator of the responses that continue a body without one. It says nothing about the bytes before them.
    private var continuation: ResumeValidator?
    /// The bytes of the body that files have; `nil` if there are none.
    private var seeded: SeededBody?
    /// True if the writer holds a partial of another variant. It is not resumed, and is kept until the requested variant's body replaces it.
    private var holdsOther = false
    /// The digest of the body's first `digested` bytes; `nil` if no digest is expected, or if bytes are missing from it.
    private var digest: RunningDigest?
    private var digested: Int64 = 0
    /// True if the whole body was found to have the expected digest.
    private var isVerified = false
    /// The expected digest of the body: the request's, otherwise the response's (RFC 9530).
    private var expected: Digest? { resolved.expectedDigest ?? announced }
    /// The digest that the body's first response announced. A later response of another mirror does not replace it.
    private var announced: Digest?

    init(
        resolved: ResolvedRequest, rules: CacheRules, writer: BodyWriter, fetch: Fetch, sharing: (any TierBody)? = nil,
        joinsByDigest: Bool = true
    ) {
        self.fetch = fetch
        self.joinsByDigest = joinsByDigest
        self.sharing = sharing
        self.resolved = resolved
        self.rules = rules
        self.writer = writer
        guard resolved.request.resumes, resolved.isResumable, let held = writer.held,
            let record = ResponseRecord(decoding: held.header)
        else {
            return
        }
        guard record.mayBeContinued(by: resolved.cacheRequest.fields, rules: rules) else {
            holdsOther = true
            return
        }
        isStorable = refusal(to: record.response) == nil
        self.record = record
        isProvedByDigest = mayJoinByDigest
        announced = record.response.verifiableDigest
        if !keepsPartial { self.record = nil }
    }

    /// True if the request's digest of the whole may replace the validator that the response does not have. The digest that a response announces
    /// may not: readers follow such a body before it is verified.
    private var mayJoinByDigest: Bool {
        guard joinsByDigest, let record else { return false }
        return record.validator == nil && record.isDivisible
            && (resolved.request.isIdentifiedByDigest || resolved.request.seed != nil && expected != nil)
    }

    // MARK: Bytes of files

    /// Begins with the bytes of a file that another program has left, if nothing else is held and a digest verifies the whole.
    ///
    /// - Throws: The errors of the store, except that it has no room. A file that cannot be read is ignored.
    func begin(with path: String, at now: Date) throws(ImageCacheError) {
        guard mayBeginWithFiles, record == nil, resolved.request.isIdentifiedByDigest, let file = SeedFile(path) else {
            return
        }
        try orWithoutFiles { () throws(StoreError) in
            try writer.start(header: headerOfFiles(at: now), total: nil)
            let buffer = BlockMemory.take(Int(BodyWriter.unit))
            defer { BlockMemory.give(buffer) }
            var position: Int64 = 0
            while !Task.isCancelled {
                let count = file.read(at: position, into: buffer)
                if count == 0 { break }
                try writer.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                position += Int64(count)
            }
            try writer.endRange(complete: false)
        }
    }

    /// Performs the work. If the store has no room for it, the body begins without bytes of files: its own response decides about the room.
    private func orWithoutFiles(_ work: () throws(StoreError) -> Void) throws(ImageCacheError) {
        do throws(StoreError) { try work() } catch {
            guard [.tooLarge, .full, .held].contains(error.code) else { throw ImageCacheError(error) }
            (record, seeded) = (nil, nil)
            (isProvedByDigest, isAdopted) = (false, false)
        }
    }

    /// Begins with the bytes that a seed has. Bytes that are held by a validator are not replaced.
    ///
    /// - Throws: The errors of the store, except that it has no room.
    func begin(with seed: any BodySeed, at now: Date) throws(ImageCacheError) {
        guard mayBeginWithFiles, record == nil || isProvedByDigest, seed.total > BodyWriter.unit else { return }
        if record != nil, writer.held?.total != seed.total { return }
        guard let seeded = SeededBody(seed, in: writer) else { return }
        try orWithoutFiles { () throws(StoreError) in
            if record == nil { try writer.start(header: headerOfFiles(at: now), total: seed.total) }
            self.seeded = seeded
            try seeded.copyBlocks()
        }
    }

    private var mayBeginWithFiles: Bool { joinsByDigest && !holdsOther && resolved.isResumable }

    /// Makes the record of bytes that came without a response.
    private func headerOfFiles(at now: Date) -> [UInt8] {
        let head = ResponseHead(
            status: .ok, fields: [:], finalURL: resolved.url, requestTime: now, responseTime: now)
        let record = ResponseRecord(head, answering: resolved, rules: rules)
        self.record = record
        (isProvedByDigest, isAdopted) = (true, true)
        return record.encoded
    }

    // MARK: BodySink

    func attach(_ transfer: any TransferControl) { fetch.attach(transfer, priority: resolved.request.priority) }

    func held() -> HeldPartial? {
        let validator = isProvedByDigest ? continuation ?? .digest : record?.validator
        guard let record, let validator else { return nil }
        let held = writer.held
        guard let missing = seeded?.missing ?? held?.missing else { return nil }
        return HeldPartial(
            validator: validator, lastModified: record.strongLastModified, total: seeded?.total ?? held?.total,
            missing: missing, url: record.finalURL)
    }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        isVerified = false
        let isOfOther = record.map { !rules.signatures.isSameResource($0.finalURL, head.finalURL) } ?? false
        switch placement {
        case .whole(let length):
            try beginWhole(head, length: length)
        case .range(let range, let total):
            try continueRecord(by: head)
            try seeded?.begin(range)
            if digested != range.lowerBound { digest = nil }
            try writer.resume(at: range.lowerBound, total: total)
        case .alreadyComplete(let total):
            try continueRecord(by: head)
            try writer.resume(at: total, total: total)
        }
        if isStorable, !isProvedByDigest, let record {
            sharing?.begin(record, placement, writer, joinsOther: placement.goesOn && isOfOther)
        }
        tellFollowers(placement)
    }

    /// Updates the record by a response that continues the held bytes.
    private func continueRecord(by head: ResponseHead) throws(ImageCacheError) {
        if isAdopted, head.status == .partialContent {
            // The file came without a response.
            var whole = head
            whole.status = .ok
            whole.fields = CacheRules.asWhole(head.fields, length: nil)
            record = ResponseRecord(whole, answering: resolved, rules: rules)
            try judgeStorability()
        } else {
            record?.update(by: head, to: resolved.cacheRequest, rules: rules)
            try judgeStorability()
        }
        guard isProvedByDigest else { return }
        isJoinedByDigest = true
        continuation = record?.validator ?? continuation
        record?.removeValidators()
        // A SHA-1 comes from a control file, which may describe an older version than the origin's.
        if !resolved.request.isIdentifiedByDigest { record?.removeLifetime() }
    }

    func heldBytes(_ range: Range<Int64>) -> [UInt8]? {
        guard let held = writer.held, !held.missing.contains(where: { $0.overlaps(range) }) else { return nil }
        return writer.heldBytes(range)
    }

    /// Lets other requests for the resource follow the body, if the response also answers them.
    private func tellFollowers(_ placement: BodyPlacement) {
        guard isStorable, resolved.expectedDigest == nil,
            let response = record?.response.withLength(of: placement),
            response.status == .ok, response.redirects.isEmpty, case .complete(.some) = response.extent
        else { return fetch.followable.fulfill(nil) }
        fetch.followable.fulfill(FollowableResponse(response: response, version: bodyProgress.version))
    }

    private func beginWhole(_ head: ResponseHead, length: Int64?) throws {
        let record = ResponseRecord(head, answering: resolved, rules: rules)
        self.record = record
        try judgeStorability()
        (isProvedByDigest, isJoinedByDigest, isAdopted) = (mayJoinByDigest, false, false)
        (continuation, seeded) = (nil, nil)
        holdsOther = false
        bodyProgress.restart()
        announced = record.response.verifiableDigest
        digest = try expected.map { try BodyDigest.running($0.algorithm) }
        digested = 0
        try checkHasDigest()
        let encoded = record.encoded
        self.encoded = encoded
        try writer.start(header: encoded, total: length)
    }

    private func judgeStorability() throws(ImageCacheError) {
        let refusal = record.flatMap { self.refusal(to: $0.response) }
        if let refusal, resolved.request.noStoreBehavior == .fail {
            throw ImageCacheError(.notStorable, url: resolved.url, message: "must not be stored: \(refusal)")
        }
        isStorable = refusal == nil
    }

    private func refusal(to response: StoredResponse) -> NotStorableReason? {
        let storability = rules.storability(of: response, to: resolved.cacheRequest)
        if case .doNotStore(let refusal) = storability { return refusal } else { return nil }
    }

    /// True if the partial of a failed transfer may be kept and resumed later.
    private var keepsPartial: Bool {
        resolved.isResumable && (record?.validator != nil || isProvedByDigest)
            && (isStorable || resolved.request.noStoreBehavior == .deliverKeepingPartial)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        try writer.write(bytes)
        sharing?.wrote(bytes.count, writer)
        if let digest {
            digest.update(bytes)
            digested += Int64(bytes.count)
        }
        return .accepted
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws {
        try writer.write(bytes, at: offset)
        sharing?.wrote(offset..<offset + Int64(bytes.count), writer)
    }

    /// `nil` for a body of which files have bytes: it is received in order.
    var segmentUnit: Int64? { seeded == nil ? BodyWriter.unit : nil }

    /// Limits how far segments run ahead of the readers of a followed body, and of the uploads of a shared one.
    var segmentLimit: Int64? {
        let shared = sharing?.segmentLimit(writer)
        guard bodyProgress.hasSubscribers else { return shared }
        return min(shared ?? .max, writer.availableEnd + Self.readAhead)
    }

    func writeBatchComplete() { bodyProgress.advance(by: writer) }

    func end(_ ending: AttemptEnding) throws {
        switch ending {
        case .complete:
            try writer.endRange(complete: true)
            try seeded?.endRange()
        case .cut: try writer.endRange(complete: false)
        case .discarded:
            record = nil  // the next `begin` restarts the writer
            sharing?.end()
        }
    }

    // MARK: After the transfer

    private func checkHasDigest() throws(ImageCacheError) {
        guard resolved.request.integrity.requiresDigest, expected?.algorithm.isCollisionResistant != true else {
            return
        }
        throw ImageCacheError(
            .wrongBytes, url: resolved.url,
            message: "there is no digest of it: neither was one given, nor has the response one (RFC 9530)")
    }

    /// Fails with `.wrongBytes` if the body does not have the expected digest. Fails with the store's error if the file was changed after its bytes
    /// were received: those can be fetched again.
    func checkDigest() throws(ImageCacheError) {
        try checkHasDigest()
        guard case .digest(let actual, _)? = try digestDefect(), let expected else { return }
        throw .wrong(expected, actual: actual, url: resolved.url)
    }

    func verifyBody() throws { if let defect = try digestDefect() { throw defect } }

    /// The defect of a whole body without the expected digest; `nil` if it has that digest, or if none is expected.
    private func digestDefect() throws(ImageCacheError) -> BodyDefect? {
        guard let expected, !isVerified else { return nil }
        let actual: [UInt8]
        let streamDigest = digested == writer.bytesHeld && digest?.algorithm == expected.algorithm ? digest : nil
        digest = nil
        if let streamDigest {
            actual = streamDigest.finish()
        } else {
            guard let descriptor = writer.readHandle() else {
                throw ImageCacheError(
                    .store(.io), url: resolved.url, message: "the body cannot be read back for its digest")
            }
            defer { close(descriptor) }
            actual = try BodyDigest.digest(expected.algorithm, ofFile: descriptor, size: writer.bytesHeld)
        }
        isVerified = actual == expected.bytes
        if isVerified { return nil }
        if streamDigest == nil {
            do throws(StoreError) { try writer.verifyHeld() } catch { throw ImageCacheError(error) }
        }
        return .digest(actual.hexadecimal, expected: expected.hexadecimal)
    }

    /// The reason why a cut of this body means to begin it again; `nil` if it can be continued.
    var obstacle: String? {
        guard resolved.isResumable, let record, record.validator == nil, !isProvedByDigest,
            record.response.status == .ok
        else { return nil }
        if !record.isDivisible { return "a body with a Content-Encoding cannot be continued" }
        return
            "the server gives neither a strong ETag nor a date, so a cut download can be continued only if its SHA-256 is given"
    }

    /// The body's SHA-256, after ``checkDigest()``; `nil` if no SHA-256 was expected.
    var verifiedSHA256: [UInt8]? { expected.flatMap { $0.algorithm == .sha256 ? $0.bytes : nil } }

    /// Keeps the partial for a later request if it can be resumed. Discards it otherwise.
    func keepPartial() {
        // The only effect of a failure is that bytes are fetched again.
        if keepsPartial || holdsOther { try? writer.keep() } else { try? writer.discard() }
    }
}

extension BodyPlacement {
    /// True if held bytes become a part of the body.
    fileprivate var goesOn: Bool { if case .whole = self { false } else { true } }
}
