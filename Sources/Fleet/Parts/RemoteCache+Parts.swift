import ConcurrencyPrimitives
import Digests
import DiskStore
import ImageCache
import Logging
import RemoteStore

/// A change of parts in the remote store.
enum PartChange: Sendable {
    case part(PartUpload.Ticket)
    case list(PartUpload)
    /// Gives the list the new head of a file that the origin confirmed.
    case head(CachedFile, url: String, EntryKey, PartIdentity, FillContext)
}

/// The result of reading a part.
enum PartReading: Sendable {
    /// The verified object, with the position of the part's bytes in it.
    case object([UInt8], content: Range<Int>, digest: [UInt8])
    /// The part is missing or damaged.
    case missing
    /// The store does not respond, and is not asked for further parts.
    case failed
}

/// Bodies in parts (<doc:PartsOfLargeBodies>).
extension RemoteCache {
    // MARK: Reading

    /// Reads a part of a list. The digest of a complete list is verified.
    func part(_ index: Int, of list: PartList) async -> PartReading {
        if Task.isCancelled { return .failed }
        let key = list.identity.remoteKey(ofPart: index)
        let object: [UInt8]?
        // Several parts are read at once and share the network's bandwidth, so their duration does not measure the store.
        switch await reading(
            key, in: parts, byteCount: { _ in nil },
            { (tier) async throws(RemoteError) in try await tier.get(key) })
        {
        case .skipped: return .failed
        case .failed(.damaged(let reason)): return damaged(key, reason)
        case .failed(let error): return error == .tooLong ? .missing : .failed
        case .done(let value): object = value
        }
        guard let object else { return .missing }
        guard let content = PartObject.content(of: object, index, list),
            let digest = try? PartObject.digest(content, of: object)
        else { return damaged(key, "it is not this part of this body") }
        if let expected = list.digests?[index], expected != digest {
            return damaged(key, "its list has another SHA-256")
        }
        return .object(object, content: content, digest: digest)
    }

    /// The parts of a list that are in the store now; `nil` if they cannot be listed.
    func partsThere(of list: PartList) async -> Set<Int>? {
        let prefix = list.identity.partsPrefix
        var found: Set<Int> = []
        var last: String?
        repeat {
            let position = last
            let answer = await asking { (tier) async throws(RemoteError) -> [RemoteListing]? in
                do throws(RemoteError) { return try await tier.list(prefix, after: position) } catch {
                    // The credentials may permit reading and not listing: a rejection does not mean that the store is unavailable.
                    if error.rejection == .credentials { return nil }
                    throw error
                }
            }
            guard let page = answer ?? nil else { return nil }
            found.formUnion(page.compactMap { Int($0.key.dropFirst(prefix.count)) })
            // Ends the loop if the store ignores the position and returns the first page again.
            let next = page.last?.key
            last = next.flatMap { next in position.map { $0 < next } ?? true ? next : nil }
        } while last != nil && found.count < list.count
        return found
    }

    private func damaged(_ key: String, _ reason: String) -> PartReading {
        deleteDamaged(key, reason)
        return .missing
    }

    // MARK: Writing

    /// Uploads the offered parts, up to the limit.
    func advance(_ upload: PartUpload) {
        for ticket in upload.begin() {
            let key = upload.list.identity.remoteKey(ofPart: ticket.index)
            add(.init(key: key, size: 0, work: .parts(.part(ticket))))
        }
        guard upload.takesList() else { return }
        let isAwaited = upload.fill.lease != nil
        add(.init(key: upload.key.remoteKey, size: 0, work: .parts(.list(upload)), isUrgent: isAwaited))
    }

    func make(_ change: PartChange) async {
        switch change {
        case .part(let ticket): await uploadPart(ticket)
        case .list(let upload): await uploadList(upload)
        case .head(let file, let url, let key, let identity, let fill):
            await updateHead(file, url, key, identity, fill)
        }
    }

    private func uploadPart(_ ticket: PartUpload.Ticket) async {
        let (upload, index) = (ticket.upload, ticket.index)
        // The body was invalidated meanwhile, or altered on disk.
        guard store.isCurrent(upload.currentEpoch), let (bytes, content) = upload.object(ofPart: index),
            let digest = try? PartObject.digest(content, of: bytes)
        else { return abandonLease(of: upload) }
        let key = upload.list.identity.remoteKey(ofPart: index)
        let isDone = await changing { (tier) async throws(RemoteError) in
            if upload.mayBeThere(index), try await tier.head(key) == Int64(bytes.count) { return false }
            return try await tier.put(bytes, at: key, .none)
        }
        guard isDone else {
            abandonLease(of: upload)
            return retryLater(upload)
        }
        upload.finished(index, digest: digest)
        advance(upload)
        await endLease(of: upload)
    }

    private func endLease(of upload: PartUpload) async {
        if upload.canBeFollowed { await upload.fill.lease?.released() }
    }

    /// Releases the lease: other machines must not wait for a body that they cannot follow.
    private func abandonLease(of upload: PartUpload) { upload.fill.lease?.release() }

    /// Tries again after a pause, because a transfer that waits for the uploads offers no parts.
    private func retryLater(_ upload: PartUpload) {
        guard let pause = upload.pauseAfterFailure() else { return }
        Task { [weak self, weak upload] in
            try? await Task.sleep(for: pause)
            guard let upload else { return }
            upload.endPause()
            self?.advance(upload)
        }
    }

    private func uploadList(_ upload: PartUpload) async {
        guard let stamp = await stamp(of: upload.fill, upload.url), store.isCurrent(upload.currentEpoch) else {
            abandonLease(of: upload)
            return upload.listFailed()
        }
        let object = upload.listObject() + stamp.encoded
        let isDone = await changing { (tier) async throws(RemoteError) in
            try await tier.put(object, at: upload.key.remoteKey, .none)
        }
        guard isDone else {
            abandonLease(of: upload)
            return upload.listFailed()
        }
        upload.listStored()
        await endLease(of: upload)
    }

    private func updateHead(
        _ file: CachedFile, _ url: String, _ key: EntryKey, _ identity: PartIdentity, _ fill: FillContext
    ) async {
        guard let stamp = await stamp(of: fill, url), let epoch = await epoch(of: url),
            store.isCurrent(file.generation.epoch)
        else { return }
        let head = ResponseRecord(url: url, response: file.response).encoded
        _ = await changing { (tier) async throws(RemoteError) in
            guard let bytes = try await tier.get(key.remoteKey) else { return false }
            let (content, former) = RemoteStamp.split(bytes)
            // A list from before an invalidation must not be used with the new head.
            guard epoch.allows(former), let parts = RemoteObject(decoding: content, key: key)?.parts,
                parts.identity.isSameRepresentation(identity)
            else { return false }
            return try await tier.put(
                RemoteObject.encode(head: head, parts: parts, key: key) + stamp.encoded, at: key.remoteKey, .none)
        }
    }
}
