import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import Transfer

/// The parts of a large body that a fetch uploads, and the parts that it found in the remote store.
struct SharedParts: Sendable {
    /// The parts that are known to be in the remote store.
    var found: FoundParts?
    /// True if the remote store was searched for parts.
    var hasLooked = false
    /// The upload of the body that is being received, if any.
    var upload: PartUpload?
    /// True if the decision was made whether the body that is being received is uploaded.
    var isDecided = false
    /// The state in which the origin is asked.
    var fill: FillContext?
}

extension Fetch {
    /// The number of parts that are known to be in the remote store.
    var partsFound: Int { shared.withLock { $0.found?.digests.count { $0 != nil } ?? 0 } }

    /// True if the body is not uploaded during its transfer.
    var isUnshared: Bool { shared.withLock { $0.isDecided && $0.upload == nil } }
}

/// Observes a body as it is received, and offers each part for upload when all of its bytes are on disk.
///
/// Not thread-safe: used like the sink that owns it, by one thread at a time.
final class PartSharing {
    /// Returns true if a response may be shared.
    typealias Rule = (StoredResponse) -> Bool

    private let remote: RemoteCache
    private let rules: CacheRules
    private let key: EntryKey
    private let epoch: Generation.Epoch
    private let fetch: Fetch
    private let isShared: Rule
    private var upload: PartUpload?
    /// The offset of the stream's next byte.
    private var position: Int64 = 0

    init(
        _ remote: RemoteCache, rules: CacheRules, key: EntryKey, epoch: Generation.Epoch, fetch: Fetch,
        isShared: @escaping Rule
    ) {
        self.remote = remote
        self.rules = rules
        self.key = key
        self.epoch = epoch
        self.fetch = fetch
        self.isShared = isShared
    }

    /// Begins or resumes a body.
    ///
    /// - Parameter joinsOther: True if the held bytes came from another resource, such as a mirror. Only the digest of the whole body proves such a
    ///   body, so it is not shared.
    func begin(
        _ record: ResponseRecord, _ placement: BodyPlacement, _ writer: BodyWriter, joinsOther: Bool
    ) {
        let total: Int64?
        switch placement {
        case .whole(let length): (position, total) = (0, length)
        case .range(let range, let length): (position, total) = (range.lowerBound, length)
        case .alreadyComplete(let length): (position, total) = (length, length)
        }
        let settings = remote.configuration
        guard !joinsOther, let total, total > settings.maxBodySize, total <= settings.maxSharedSize,
            isShared(record.response),
            let identity = PartIdentity(
                record, key: key, total: total, partSize: settings.partSize, rules: rules)
        else { return end() }
        if case .whole = placement { upload = nil }
        if upload?.list.identity.isSameRepresentation(identity) != true {
            let list = PartList(self.identity(identity), total: total, partSize: settings.partSize)
            start(list, record, writer)
        }
    }

    /// The identity of the parts that were found or are being uploaded, if they belong to the same representation; otherwise the identity in the
    /// epoch in which the origin was asked.
    private func identity(_ identity: PartIdentity) -> PartIdentity {
        fetch.shared.withLock { shared in
            let known = [shared.upload?.list.identity, shared.found?.identity].compactMap { $0 }
            return known.first { $0.isSameRepresentation(identity) } ?? identity.during(shared.fill?.epoch)
        }
    }

    private func start(_ list: PartList, _ record: ResponseRecord, _ writer: BodyWriter) {
        let head = record.encoded
        // A body of one block stays in memory until it is complete.
        guard head.count <= RemoteObject.maxHeadSize, let body = try? writer.openedBody() else { return end() }
        let former = (0..<list.count).filter { writer.hasBlocks(of: list.range(of: $0)) }
        let upload = fetch.shared.withLock { shared in
            let known = [shared.upload?.found, shared.found].compactMap { $0 }.first { $0.identity == list.identity }
            let upload = PartUpload(
                list, key: key, url: record.url, fill: shared.fill ?? FillContext(), head: head, epoch: epoch,
                body: body,
                former: Set(former), known: known, width: remote.configuration.maxUploads)
            (shared.upload, shared.isDecided) = (upload, true)
            return upload
        }
        self.upload = upload
        upload.offer(former)
        remote.advance(upload)
    }

    /// Records further bytes of the stream.
    func wrote(_ count: Int, _ writer: BodyWriter) {
        wrote(position..<position + Int64(count), writer)
        position += Int64(count)
    }

    /// Records received bytes of a range.
    func wrote(_ range: Range<Int64>, _ writer: BodyWriter) {
        guard let upload, mayEndBlock(range, of: upload.list.total) else { return }
        let complete = upload.list.parts(touching: range).filter { index in
            !upload.hasOffer(of: index) && writer.hasBlocks(of: upload.list.range(of: index))
        }
        guard !complete.isEmpty else { return }
        upload.offer(complete)
        remote.advance(upload)
    }

    /// The offset before which additional connections begin and end, so that few received bytes are lost to other machines if this one fails: two
    /// parts after the uploaded ones. If uploads are slower than the network, the limit is the end of the part that is being received, so that the
    /// transfer does not wait for them. `nil` if nothing is uploaded, or if uploads fail.
    func segmentLimit(_ writer: BodyWriter) -> Int64? {
        guard let upload, let uploaded = upload.uploadedCount else { return nil }
        let arriving = writer.availableEnd / upload.list.partSize + 1
        return max(Int64(uploaded) + 2, arriving) * upload.list.partSize
    }

    /// Returns false for a write in the middle of a block, which completes no part.
    private func mayEndBlock(_ range: Range<Int64>, of total: Int64) -> Bool {
        range.lowerBound / BodyWriter.unit != range.upperBound / BodyWriter.unit || range.upperBound == total
    }

    /// Ends the upload, because the next bytes belong to another body.
    func end() {
        upload = nil
        fetch.shared.withLock { ($0.upload, $0.isDecided) = (nil, true) }
    }
}

extension RemoteSource {
    /// The sharing of a body during its transfer; `nil` if the request does not allow it.
    func sharing(
        of resolved: ResolvedRequest, under key: EntryKey, _ epoch: Generation.Epoch, _ fetch: Fetch
    ) -> PartSharing? {
        // Only the digest of the whole body proves the bytes of mirrors.
        guard key == resolved.key, resolved.request.mirrors.isEmpty, rules.isShareable(resolved) else {
            fetch.shared.withLock { $0.isDecided = true }
            return nil
        }
        return PartSharing(remote, rules: fetcher.rules, key: key, epoch: epoch, fetch: fetch) { [rules] response in
            let hasMirrors =
                resolved.request.usesAnnouncedMirrors
                && !DuplicateLinks.mirrors(in: response.fields, base: response.finalURL).isEmpty
            return !hasMirrors && rules.isShareable(response, resolved)
        }
    }

    /// Completes the list of a file's parts. If the origin confirmed the file, the list gets the file's new head.
    ///
    /// - Returns: True if parts are uploaded. The upload then has the fetch's lease.
    func shareParts(
        of file: CachedFile, _ resolved: ResolvedRequest, _ fetch: Fetch, _ fill: FillContext
    ) -> Bool {
        let record = ResponseRecord(url: resolved.url, response: file.response)
        let size = remote.configuration.partSize
        guard file.size <= remote.configuration.maxSharedSize,
            let identity = PartIdentity(
                record, key: resolved.key, total: file.size, partSize: size, rules: fetcher.rules)
        else { return false }
        if file.source == .revalidated {
            let change = PartChange.head(file, url: resolved.url, resolved.key, identity, fill.withoutLease)
            remote.add(.init(key: resolved.key.remoteKey, size: 0, work: .parts(change)))
            return false
        }
        guard let upload = fetch.shared.withLock({ $0.upload }), upload.list.identity.isSameRepresentation(identity)
        else { return false }
        upload.complete(head: record.encoded, epoch: file.generation.epoch)
        remote.advance(upload)
        return true
    }
}

extension BodyPlacement {
    /// True if held bytes become a part of the body.
    var goesOn: Bool { if case .whole = self { false } else { true } }
}
