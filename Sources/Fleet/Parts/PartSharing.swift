import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import ImageCache
import Transfer

/// Observes a body as it is received, and offers each part for upload when all of its bytes are on disk.
///
/// Not thread-safe: used like the sink that owns it, by one thread at a time.
final class PartSharing: TierBody {
    private let fetch: RemoteFetch
    private let key: EntryKey
    private let epoch: Generation.Epoch
    private var upload: PartUpload?
    /// The offset of the stream's next byte.
    private var position: Int64 = 0

    private var remote: RemoteCache { fetch.remote }

    init(_ fetch: RemoteFetch, key: EntryKey, epoch: Generation.Epoch) {
        self.fetch = fetch
        self.key = key
        self.epoch = epoch
    }

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
            fetch.mayShareParts(of: record.response),
            let identity = PartIdentity(
                record, key: key, total: total, partSize: settings.partSize, rules: fetch.sharing.rules)
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
        fetch.state.withLock { state in
            let known = [state.upload?.list.identity, state.found?.identity].compactMap { $0 }
            return known.first { $0.isSameRepresentation(identity) } ?? identity.during(state.fill?.epoch)
        }
    }

    private func start(_ list: PartList, _ record: ResponseRecord, _ writer: BodyWriter) {
        let head = record.encoded
        // A body of one block stays in memory until it is complete.
        guard head.count <= RemoteObject.maxHeadSize, let body = try? writer.openedBody() else { return end() }
        let former = (0..<list.count).filter { writer.hasBlocks(of: list.range(of: $0)) }
        let upload = fetch.state.withLock { state in
            let known = [state.upload?.found, state.found].compactMap { $0 }.first { $0.identity == list.identity }
            let upload = PartUpload(
                list, key: key, url: record.url, fill: state.fill ?? FillContext(), head: head, epoch: epoch,
                body: body,
                former: Set(former), known: known, width: remote.configuration.maxUploads)
            (state.upload, state.isDecided) = (upload, true)
            return upload
        }
        self.upload = upload
        upload.offer(former)
        remote.advance(upload)
    }

    func wrote(_ count: Int, _ writer: BodyWriter) {
        wrote(position..<position + Int64(count), writer)
        position += Int64(count)
    }

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

    func end() {
        upload = nil
        fetch.state.withLock { ($0.upload, $0.isDecided) = (nil, true) }
    }
}

extension RemoteFetch {
    /// The sharing of a body during its transfer; `nil` if the request does not allow it.
    func sharing(under key: EntryKey, _ epoch: Generation.Epoch) -> (any TierBody)? {
        // Only the digest of the whole body proves the bytes of mirrors.
        guard key == resolved.key, resolved.request.mirrors.isEmpty, sharing.isShareable(resolved) else {
            state.withLock { $0.isDecided = true }
            return nil
        }
        return PartSharing(self, key: key, epoch: epoch)
    }

    /// True if the parts of a response may be shared while it arrives.
    fileprivate func mayShareParts(of response: StoredResponse) -> Bool {
        let hasMirrors =
            resolved.request.usesAnnouncedMirrors
            && !DuplicateLinks.mirrors(in: response.fields, base: response.finalURL).isEmpty
        return !hasMirrors && sharing.isShareable(response, resolved)
    }

    /// Completes the list of a file's parts. If the origin confirmed the file, the list gets the file's new head.
    ///
    /// - Returns: True if parts are uploaded. The upload then has the fetch's lease.
    func shareParts(of file: CachedFile, _ fill: FillContext) -> Bool {
        let record = ResponseRecord(url: resolved.url, response: file.response)
        let size = remote.configuration.partSize
        guard file.size <= remote.configuration.maxSharedSize,
            let identity = PartIdentity(
                record, key: resolved.key, total: file.size, partSize: size, rules: sharing.rules)
        else { return false }
        if file.source == .revalidated {
            let change = PartChange.head(file, url: resolved.url, resolved.key, identity, fill.withoutLease)
            remote.add(.init(key: resolved.key.remoteKey, size: 0, work: .parts(change)))
            return false
        }
        guard let upload = state.withLock({ $0.upload }), upload.list.identity.isSameRepresentation(identity)
        else { return false }
        upload.complete(head: record.encoded, epoch: file.generation.epoch)
        remote.advance(upload)
        return true
    }
}
