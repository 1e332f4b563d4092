import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import ImageCache

/// The part of the remote store in one fetch: the source in front of the origin, and the target of the origin's response.
final class RemoteFetch: TierFetch {
    struct State {
        /// The parts that are known to be in the remote store.
        var found: FoundParts?
        /// True if an earlier look-up was made.
        var hasLooked = false
        /// The upload of the body that is being received, if any.
        var upload: PartUpload?
        /// True if the decision was made whether the body that is being received is uploaded.
        var isDecided = false
        /// The state for the request to the origin, with a lease if one was acquired.
        var fill: FillContext?
    }

    let remote: RemoteCache
    let access: FetchAccess
    let state = Locked(State())

    var resolved: ResolvedRequest { access.resolved }
    var sharing: SharingRules { remote.sharing }

    init(_ access: FetchAccess, in remote: RemoteCache) {
        self.access = access
        self.remote = remote
    }

    /// The number of parts that are known to be in the remote store.
    var partsFound: Int { state.withLock { $0.found?.digests.count { $0 != nil } ?? 0 } }

    var mayFind: Bool { sharing.mayUse(resolved) }

    func noteLookUp(_ isHit: Bool) { remote.noteLookUp(isHit) }

    // MARK: Before the origin

    /// Copies the response to a request from the remote store to the disk. The times of its original request and response are kept, so that
    /// its age is right.
    func storeFromRemote(in generation: Generation) async -> TierFinding {
        var finding = TierFinding()
        var fill = FillContext(knowing: remote.knownPosition)
        let found = await remote.object(for: resolved.key, of: resolved.url)
        if let epoch = found.epoch { (fill.epoch, fill.position) = (epoch, epoch.position) }
        state.withLock { [fill] in $0.fill = fill }
        defer { state.withLock { $0.hasLooked = true } }
        finding.wasAsked = found.wasAsked
        guard let object = found.object else { return finding }
        if let parts = object.parts {
            (finding.entry, finding.hasParts) = await storeParts(parts, of: object.record, in: generation)
            return finding
        }
        guard sharing.isUsable(object.record, for: resolved),
            sharing.rules.variantKey(of: object.record.response) != nil
        else { return finding }
        finding.entry = await store(object, in: generation)
        return finding
    }

    /// Stores the body as if the origin had sent it.
    private func store(_ object: RemoteObject, in generation: Generation) async -> Int64? {
        guard let writer = access.beginBody(in: generation) else { return nil }
        do throws(StoreError) {
            try writer.start(header: object.record.encoded, total: Int64(object.body.count))
            let written = object.body.withUnsafeBytes { bytes in
                Result { () throws(StoreError) in try writer.write(bytes) }
            }
            try written.get()
            try writer.endRange(complete: true)
            return try await access.commit(object.record, writer, in: generation)
        } catch {
            access.note(error)
            try? writer.discard()
            return nil
        }
    }

    // MARK: The origin

    func beginOrigin() {
        let fill = state.withLock { state in
            let fill = state.fill ?? FillContext(knowing: remote.knownPosition)
            state.fill = fill
            return fill
        }
        fill.lease?.keep(during: self)
    }

    /// Shares the origin's response with other machines. If that is not possible, releases the lease.
    func end(with file: CachedFile?, _ failure: ImageCacheError?) {
        guard let fill = state.withLock({ $0.fill }) else { return }
        defer { state.withLock { $0.fill = fill.withoutLease } }
        if let file, share(file, fill) { return }
        guard let lease = fill.lease else { return }
        if file?.source == .network || failure?.code == .notStorable { remote.noteUnshareable(resolved.key) }
        lease.release()
    }

    /// Uploads a file that the origin has sent or confirmed, in the background.
    ///
    /// - Parameter fill: The state before the request to the origin.
    /// - Returns: False if the file must not be shared, or if only the head of its list of parts is replaced.
    private func share(_ file: CachedFile, _ fill: FillContext) -> Bool {
        guard [.network, .networkResumed, .revalidated].contains(file.source), file.isStored,
            !file.isDeduplicated, sharing.isShareable(resolved), sharing.isShareable(file.response, resolved)
        else { return false }
        guard file.size > remote.configuration.maxBodySize else {
            return remote.upload(file, url: resolved.url, for: resolved.key, fill)
        }
        return shareParts(of: file, fill)
    }
}

extension TierFinding {
    /// Combines the result with an earlier one, as several attempts are one look-up.
    func after(_ former: TierFinding) -> TierFinding {
        var finding = self
        finding.wasAsked = wasAsked || former.wasAsked
        finding.hasParts = hasParts || former.hasParts
        return finding
    }
}
