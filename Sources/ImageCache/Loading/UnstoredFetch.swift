import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Transfer

/// Fetches the originals of images that the store cannot take.
struct UnstoredFetch {
    let fetcher: Fetcher

    /// Fetches a file into memory after the store failed, for images that are made from it and are not kept.
    ///
    /// - Parameter failure: The error of the store.
    /// - Throws: `failure` if the request requires a stored file, or if the memory is full.
    func file(
        for request: FileRequest, after failure: ImageCacheError
    ) async throws(ImageCacheError) -> CachedFile {
        guard failure.isOfStore, request.mayBeUnstored else { throw failure }
        fetcher.warnings.note(failure)
        let (rules, store) = (fetcher.rules, fetcher.store)
        let resolved = try ResolvedRequest(request, by: rules)
        let fetch = Fetch(request.url, for: request)
        let generation = store.generation(of: resolved.url)
        let sink = UnstoredSink(UnstoredBody(fetcher.unstoredMemory))
        let result: TransferResult
        do throws(TransferError) {
            result = try await fetcher.sources.transport(for: request, of: fetch)
                .run(resolved.transferRequest(for: fetch), into: sink, events: { resolved.report($0, to: fetch) })
        } catch {
            throw (error.cause as? StoreError)?.code == .full ? failure : ImageCacheError(error)
        }
        guard case .body = result.outcome, let head = sink.head else { throw .failure(result, resolved) }
        let record = ResponseRecord(head, answering: resolved, rules: rules)
        let body: StoredBody
        do throws(StoreError) {
            body = try sink.body.finish(
                as: EntryKey(.transient), url: resolved.url, metadata: record.encoded, in: store)
        } catch {
            throw ImageCacheError(error)
        }
        var status = ConditionalRequest(CacheForward(reason: .uriMiss)).status
        status.forwardStatus = result.head.status.code
        let file = CachedFile(
            source: .network, bytesTransferred: result.bytesReceived, resumedFrom: 0, finalURL: record.finalURL,
            response: record.response, isStored: false, cacheStatus: status, body: body, generation: generation)
        return try await fetcher.executor.run { () throws(ImageCacheError) in
            try check(file, for: request)
            return file
        }
    }

    private func check(_ file: CachedFile, for request: FileRequest) throws(ImageCacheError) {
        guard let expected = request.expectedDigest ?? file.response.verifiableDigest else { return }
        let actual = try BodyDigest.digest(expected.algorithm, ofFile: file.body.descriptor, size: file.size)
        guard actual == expected.bytes else {
            throw .wrong(expected, actual: actual.hexadecimal, url: request.url)
        }
    }
}

extension FileRequest {
    /// True if the request may be answered with a file that is not in the store.
    fileprivate var mayBeUnstored: Bool {
        policy != .returnCacheDataDontLoad && noStoreBehavior != .fail && !integrity.requiresDigest
    }
}

extension ImageCacheError {
    /// True if the store failed, and not because the body is too large for it.
    var isOfStore: Bool {
        switch code.storeReason {
        case .full, .notWritable, .damaged, .busy, .io: true
        default: false
        }
    }
}

/// Receives a body into memory. An attempt that was cut is resumed.
///
/// `@unchecked Sendable`: the caller of `HTTPTransport.run` uses it before and after the call, the transport during it. `BodySink` guarantees that
/// calls do not overlap.
private final class UnstoredSink: BodySink, @unchecked Sendable {
    private struct UnexpectedRange: Error {}

    let body: UnstoredBody
    private(set) var head: ResponseHead?
    private var total: Int64?

    init(_ body: UnstoredBody) { self.body = body }

    func held() -> HeldPartial? {
        guard let head, let validator = head.resumeValidator, body.size > 0 else { return nil }
        let end = total ?? .max
        return HeldPartial(
            validator: validator, lastModified: head.validators.strongLastModified, total: total,
            missing: body.size < end ? [body.size..<end] : [], url: head.finalURL)
    }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        switch placement {
        case .whole(let length):
            body.restart()
            (self.head, total) = (head, length)
        case .range(let range, let total):
            guard range.lowerBound == body.size else { throw UnexpectedRange() }
            self.total = total
        case .alreadyComplete(let total):
            guard total == body.size else { throw UnexpectedRange() }
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        try body.write(bytes)
        return .accepted
    }

    func end(_ ending: AttemptEnding) {
        guard ending == .discarded else { return }
        body.restart()
        (head, total) = (nil, nil)
    }
}
