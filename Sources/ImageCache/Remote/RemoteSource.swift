import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import HTTPTypes

/// The store that is shared with other machines, as the source in front of the origin.
struct RemoteSource: Sendable {
    let remote: RemoteCache
    let rules: SharingRules
    let fetcher: Fetcher

    /// Copies the response to a request from the remote store to the disk. The times of its original request and response are kept, so that
    /// its age is right. The caching rules then apply as to any entry.
    ///
    /// - Returns: The new entry, if there was a storable response.
    func storeFromRemote(_ look: RemoteLookup) async -> RemoteLookupResult {
        var finding = RemoteLookupResult(fill: FillContext(knowing: remote.knownPosition))
        let (resolved, generation) = (look.resolved, look.generation)
        let found = await remote.object(for: resolved.key, of: resolved.url)
        defer { look.task.context.shared.withLock { $0.hasLooked = true } }
        finding.wasAsked = found.wasAsked
        if let epoch = found.epoch { (finding.fill.epoch, finding.fill.position) = (epoch, epoch.position) }
        guard let object = found.object else { return finding }
        if let parts = object.parts {
            (finding.entry, finding.hasParts) = await storeParts(parts, of: object.record, for: look)
            return finding
        }
        guard rules.isUsable(object.record, for: resolved),
            let variant = fetcher.rules.variantKey(of: object.record.response)
        else { return finding }
        finding.entry = await store(object, variant, resolved, generation)
        return finding
    }

    /// Stores the body as if the origin had sent it.
    private func store(
        _ object: RemoteObject, _ variant: String, _ resolved: ResolvedRequest, _ generation: Generation
    ) async -> Int64? {
        guard let writer = try? fetcher.beginBody(resolved.partialKey, generation) else { return nil }
        let new = fetcher.newEntry(for: object.record, variant: variant, resolved, generation)
        do throws(StoreError) {
            try writer.start(header: object.record.encoded, total: Int64(object.body.count))
            let written = object.body.withUnsafeBytes { bytes in
                Result { () throws(StoreError) in try writer.write(bytes) }
            }
            try written.get()
            try writer.endRange(complete: true)
            return try await fetcher.commit(new, object.record, writer)?.entry.id
        } catch {
            fetcher.warnings.note(ImageCacheError(error))
            try? writer.discard()
            return nil
        }
    }

    /// Uploads a file that the origin has sent or confirmed, in the background.
    ///
    /// - Parameter fill: The state before the request to the origin.
    /// - Returns: False if the file must not be shared, or if only the head of its list of parts is replaced.
    @discardableResult
    func share(_ file: CachedFile, _ resolved: ResolvedRequest, _ fetch: Fetch, _ fill: FillContext) -> Bool {
        guard [.network, .networkResumed, .revalidated].contains(file.source), file.isStored,
            !file.isDeduplicated, rules.isShareable(resolved), rules.isShareable(file.response, resolved)
        else { return false }
        guard file.size > remote.configuration.maxBodySize else {
            return remote.upload(file, url: resolved.url, for: resolved.key, fill)
        }
        return shareParts(of: file, resolved, fetch, fill)
    }
}

extension CachedFile {
    /// The file, marked as coming from the remote store in this request.
    var fromRemote: CachedFile {
        var file = self
        file.source = .remote
        file.bytesTransferred = size
        file.cacheStatus.detail = "REMOTE"
        return file
    }
}
