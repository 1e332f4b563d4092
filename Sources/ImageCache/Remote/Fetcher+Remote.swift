import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import HTTPTypes

/// Uses the store shared with other machines, after a miss on disk and before the origin.
extension Fetcher {
    /// Copies the response to a request from the remote store to the disk. The times of its original request and response are kept, so that
    /// its age is right. The caching rules then apply as to any entry.
    ///
    /// - Returns: The new entry, if there was a storable response.
    func storeFromRemote(_ look: RemoteLook) async -> RemoteFinding {
        var finding = RemoteFinding(fill: RemoteFill(knowing: remote?.knownPosition))
        let (resolved, generation) = (look.resolved, look.generation)
        guard let remote else { return finding }
        let found = await remote.object(for: resolved.key, of: resolved.url)
        defer { look.task.context.shared.withLock { $0.hasLooked = true } }
        finding.wasAsked = found.wasAsked
        if let epoch = found.epoch { (finding.fill.epoch, finding.fill.position) = (epoch, epoch.position) }
        guard let object = found.object else { return finding }
        if let parts = object.parts {
            (finding.entry, finding.hasParts) = await storeParts(parts, of: object.record, remote, for: look)
            return finding
        }
        guard isUsable(object.record, for: resolved),
            let variant = rules.variantKey(of: object.record.response)
        else { return finding }
        finding.entry = await store(object, variant, resolved, generation)
        return finding
    }

    /// Stores the body as if the origin had sent it.
    private func store(
        _ object: RemoteObject, _ variant: String, _ resolved: ResolvedRequest, _ generation: Generation
    ) async -> Int64? {
        guard let writer = try? beginBody(resolved.partialKey, generation) else { return nil }
        let new = newEntry(for: object.record, variant: variant, resolved, generation)
        do throws(StoreError) {
            try writer.start(header: object.record.encoded, total: Int64(object.body.count))
            let written = object.body.withUnsafeBytes { bytes in
                Result { () throws(StoreError) in try writer.write(bytes) }
            }
            try written.get()
            try writer.endRange(complete: true)
            return try await commit(new, object.record, writer)?.entry.id
        } catch {
            warnings.note(ImageCacheError(error))
            try? writer.discard()
            return nil
        }
    }

    /// Uploads a file that the origin has sent or confirmed, in the background.
    ///
    /// - Parameter fill: The state before the request to the origin.
    /// - Returns: False if the file must not be shared, or if only the head of its list of parts is replaced.
    @discardableResult
    func share(_ file: CachedFile, _ resolved: ResolvedRequest, _ fetch: Fetch, _ fill: RemoteFill) -> Bool {
        guard let remote, [.network, .networkResumed, .revalidated].contains(file.source), file.isStored,
            !file.isOfOtherRequest, isShareable(resolved), isShareable(file.response, resolved, remote)
        else { return false }
        guard file.size > remote.configuration.maxBodySize else {
            return remote.upload(file, url: resolved.url, for: resolved.key, fill)
        }
        return shareParts(of: file, resolved, remote, fetch, fill)
    }

    // MARK: Rules

    /// True if images derived from a file may be shared with other machines.
    func mayShareImages(of file: CachedFile, _ resolved: ResolvedRequest) -> Bool {
        guard let remote, file.isStored, !file.isOfOtherRequest, isShareable(resolved) else { return false }
        return isShareable(file.response, resolved, remote)
    }

    /// True if the policy of a request allows the use or revalidation of a stored response.
    func mayUseRemote(_ resolved: ResolvedRequest) -> Bool {
        let request = resolved.request
        guard isShareable(resolved), request.changedSince == nil, request.goneOriginal == nil else { return false }
        switch resolved.cacheRequest.policy {
        case .useProtocolCachePolicy, .returnCacheDataElseLoad, .reloadRevalidatingCacheData, .maxStale: return true
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData, .returnCacheDataDontLoad:
            return false
        }
    }

    /// True if the request allows sharing its response with other machines.
    func isShareable(_ resolved: ResolvedRequest) -> Bool {
        let request = resolved.request
        guard let remote, request.method == .get, request.body == nil, request.transport == nil else { return false }
        switch resolved.audience {
        case .everybody: return true
        case .owner: return remote.configuration.sharesPrivateResponses
        case .unknown: return false
        }
    }

    /// True if the response may be used by all users in the key's namespace. In the shared namespace, a shared cache must be allowed to
    /// store it (RFC 9111 section 3).
    func isShareable(_ response: StoredResponse, _ resolved: ResolvedRequest, _ remote: RemoteCache) -> Bool {
        guard response.status == .ok, response.ownVersion == nil, rules.variantKey(of: response) != nil else {
            return false
        }
        if resolved.audience == .owner { return true }
        return !response.fields.contains(.setCookie) && isStorable(response, resolved, in: .shared)
    }

    /// True if a response from the remote store belongs to this URL, and this cache would have stored it.
    func isUsable(_ record: ResponseRecord, for resolved: ResolvedRequest) -> Bool {
        let response = record.response
        // The machine that stored the response may share more than this one.
        guard let remote, isShareable(response, resolved, remote) else { return false }
        return record.url == resolved.url && response.requestMethod == .get && !response.isInvalidated
            && isStorable(response, resolved, in: rules.mode)
    }

    private func isStorable(_ response: StoredResponse, _ resolved: ResolvedRequest, in mode: CacheMode) -> Bool {
        var rules = rules
        rules.mode = mode
        let message = HTTPResponse(status: response.status, headerFields: response.fields)
        return rules.storability(of: message, to: resolved.cacheRequest, receivedAt: response.responseTime).isStorable
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
