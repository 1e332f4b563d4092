import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import Transfer

/// The parts of a large body that a fetch shares, and those that it has found shared.
struct SharedParts: Sendable {
    /// Parts that are in the remote store.
    var found: FoundParts?
    /// The store was looked into.
    var hasLooked = false
    /// The upload of the body that is being received.
    var upload: PartUpload?
    /// It is known if the body that is being received is uploaded.
    var isDecided = false
    /// The state before the origin was asked.
    var fill: RemoteFill?
}

extension Fetch {
    /// The number of parts that are known to be in the remote store.
    var partsFound: Int { shared.withLock { $0.found?.digests.count { $0 != nil } ?? 0 } }

    /// True if the body is not uploaded while it comes.
    var isUnshared: Bool { shared.withLock { $0.isDecided && $0.upload == nil } }
}

/// Watches a body arrive, and offers each part that stands on the disk to be uploaded.
///
/// Used as the sink that it belongs to: by one thread at a time.
final class PartSharing {
    /// Decides if a response is shared.
    typealias Rule = (StoredResponse) -> Bool

    private let remote: RemoteCache
    private let rules: CacheRules
    private let key: EntryKey
    private let epoch: Generation.Epoch
    private let fetch: Fetch
    private let isShared: Rule
    private var upload: PartUpload?
    /// The place of the stream's next byte.
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

    /// A body begins, or goes on.
    ///
    /// - Parameter joinsOther: True if it goes on with bytes of another resource, a mirror: only the digest of the whole proves it.
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

    /// The identity of the parts that were found, or are being uploaded already, if they are of the same representation; otherwise that in
    /// the epoch in which the origin was asked.
    private func identity(_ identity: PartIdentity) -> PartIdentity {
        fetch.shared.withLock { shared in
            let known = [shared.upload?.list.identity, shared.found?.identity].compactMap { $0 }
            return known.first { $0.isSameRepresentation(identity) } ?? identity.during(shared.fill?.epoch)
        }
    }

    private func start(_ list: PartList, _ record: ResponseRecord, _ writer: BodyWriter) {
        let head = record.encoded
        // A body of one block is in memory until it is complete.
        guard head.count <= RemoteObject.maxHeadSize, let body = try? writer.openedBody() else { return end() }
        let former = (0..<list.count).filter { writer.hasBlocks(of: list.range(of: $0)) }
        let upload = fetch.shared.withLock { shared in
            let known = [shared.upload?.found, shared.found].compactMap { $0 }.first { $0.identity == list.identity }
            let upload = PartUpload(
                list, key: key, url: record.url, fill: shared.fill ?? RemoteFill(), head: head, epoch: epoch,
                body: body,
                former: Set(former), known: known, width: remote.configuration.maxUploads)
            (shared.upload, shared.isDecided) = (upload, true)
            return upload
        }
        self.upload = upload
        upload.offer(former)
        remote.advance(upload)
    }

    /// The stream has brought further bytes.
    func wrote(_ count: Int, _ writer: BodyWriter) {
        wrote(position..<position + Int64(count), writer)
        position += Int64(count)
    }

    /// Bytes of a range have come.
    func wrote(_ range: Range<Int64>, _ writer: BodyWriter) {
        guard let upload, mayEndBlock(range, of: upload.list.total) else { return }
        let complete = upload.list.parts(touching: range).filter { index in
            !upload.hasOffer(of: index) && writer.hasBlocks(of: upload.list.range(of: index))
        }
        guard !complete.isEmpty else { return }
        upload.offer(complete)
        remote.advance(upload)
    }

    /// The offset before which further connections begin and end, so that a machine that is killed leaves little that is not uploaded:
    /// two parts from the first one that is not in the store. While uploads are slower than the network, the part that is arriving, so that
    /// nobody waits for them; `nil`: nothing is shared, or the store takes nothing.
    func segmentLimit(_ writer: BodyWriter) -> Int64? {
        guard let upload, let uploaded = upload.uploadedCount else { return nil }
        let arriving = writer.availableEnd / upload.list.partSize + 1
        return max(Int64(uploaded) + 2, arriving) * upload.list.partSize
    }

    /// Most writes are in the middle of a block, and change nothing.
    private func mayEndBlock(_ range: Range<Int64>, of total: Int64) -> Bool {
        range.lowerBound / BodyWriter.unit != range.upperBound / BodyWriter.unit || range.upperBound == total
    }

    /// Ends the upload: what comes is of another body.
    func end() {
        upload = nil
        fetch.shared.withLock { ($0.upload, $0.isDecided) = (nil, true) }
    }
}

extension RemoteSource {
    /// The way to share a body while it arrives; `nil`: it is not shared, by the request.
    func sharing(
        of resolved: ResolvedRequest, under key: EntryKey, _ epoch: Generation.Epoch, _ fetch: Fetch
    ) -> PartSharing? {
        // The bytes of mirrors are proved by the digest of the whole alone.
        guard key == resolved.key, resolved.request.mirrors.isEmpty, rules.isShareable(resolved) else {
            fetch.shared.withLock { $0.isDecided = true }
            return nil
        }
        return PartSharing(remote, rules: rules.rules, key: key, epoch: epoch, fetch: fetch) { [rules] response in
            let hasMirrors =
                resolved.request.usesAnnouncedMirrors
                && !DuplicateLinks.mirrors(in: response.fields, base: response.finalURL).isEmpty
            return !hasMirrors && rules.isShareable(response, resolved)
        }
    }

    /// Completes the list of a file's parts; the list of one that the origin has confirmed gets its new head.
    ///
    /// - Returns: True if parts are uploaded, with the fetch's lease.
    func shareParts(
        of file: CachedFile, _ resolved: ResolvedRequest, _ fetch: Fetch, _ fill: RemoteFill
    ) -> Bool {
        let record = ResponseRecord(url: resolved.url, response: file.response)
        let size = remote.configuration.partSize
        guard file.size <= remote.configuration.maxSharedSize,
            let identity = PartIdentity(record, key: resolved.key, total: file.size, partSize: size, rules: rules.rules)
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
    /// True if bytes that are held become a part of the body.
    var goesOn: Bool { if case .whole = self { false } else { true } }
}
