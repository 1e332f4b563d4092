import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import TextIdentity
import Transfer

/// The changes that a response makes to the store.
extension Fetcher {
    func beginBody(_ key: EntryKey, _ generation: Generation) throws(ImageCacheError) -> BodyWriter {
        do throws(StoreError) {
            let writer = try store.beginBody(for: key)
            writer.epoch = generation.epoch
            return writer
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// Commits a complete body that was requested in a generation.
    func store(
        _ result: TransferResult, sink: DownloadSink, writer: BodyWriter, resolved: ResolvedRequest,
        _ status: CacheStatus,
        _ generation: Generation
    ) async throws(ImageCacheError) -> CachedFile {
        do throws(ImageCacheError) {
            try sink.checkDigest()
        } catch {
            if !error.isOfAlteredPartial { try? writer.discard() }
            var error = error
            error.bytesTransferred = result.bytesReceived
            throw error
        }
        guard let record = sink.record else {
            try? writer.discard()
            throw ImageCacheError(
                .wrongBytes, url: resolved.request.url, message: "the transfer ended without a response")
        }
        // `Vary: *` matches no later request (RFC 9111 section 4.1); such a response replaces the one before it.
        let variant =
            rules.variantKey(of: record.response) ?? "*"
        do throws(StoreError) {
            var entry = newEntry(for: record, encoded: sink.encoded, variant: variant, resolved, generation)
            entry.sha256 = sink.verifiedSHA256
            let stored: StoredBody? = sink.isStorable ? try await commit(entry, record, writer) : nil
            let body = if let stored { stored } else { try writer.commitTransient(as: EntryKey(.transient)) }
            var status = status
            status.stored = stored != nil
            status.timeToLive = stored != nil ? remainingLifetime(of: record.response, resolved) : nil
            return CachedFile(
                source: result.resumedFrom > 0 ? .networkResumed : .network, bytesTransferred: result.bytesReceived,
                resumedFrom: result.resumedFrom, finalURL: record.finalURL, response: record.response,
                isStored: stored != nil, cacheStatus: status, body: body, generation: body.generation ?? generation)
        } catch {
            throw ImageCacheError(error)
        }
    }

    func newEntry(
        for record: ResponseRecord, encoded: [UInt8]? = nil, variant: String, _ resolved: ResolvedRequest,
        _ generation: Generation
    ) -> NewEntry {
        // A pin holds only the entries of the request's own key. A failure of the store is reported by the commit, which fails too.
        var key: EntryKey?
        if let shared = resolved.sharedRequestKey, rules.isSharedDespiteAuthorization(record.response),
            (try? store.isPinned(resolved.key)) != true
        {
            key = EntryKey(.response(shared))
        }
        var entry = NewEntry(
            key: key ?? resolved.key, variant: variant, url: resolved.url, metadata: encoded ?? record.encoded,
            generation: generation)
        entry.variantLimit = maxVariants
        // A request finds its partial under its own key. A small body never has one.
        let isSmall =
            if case .complete(let length?) = record.response.extent { length <= BodyWriter.unit } else { false }
        entry.isResumable = !isSmall && key == nil && resolved.isResumable && record.validator != nil
        // A body that a digest identifies is of use at any age.
        entry.expires =
            resolved.expectedDigest != nil
            ? nil
            : rules.uselessDate(of: record.response, freshnessOverride: resolved.request.freshnessOverride)
        entry.version = resolved.request.applicationVersion
        entry.format = resolved.request.format
        return entry
    }

    /// Commits a body; `nil` if its resource was invalidated since the request began, or if the response to a later request has replaced it.
    func commit(
        _ new: NewEntry, _ record: ResponseRecord, _ writer: BodyWriter
    ) async throws(StoreError) -> StoredBody? {
        try await commit(new, record) { (entry) async throws(StoreError) in
            try await writer.commit(entry, on: executor)
        }
    }

    /// Commits a body by the given call, which makes the entry.
    func commit(
        _ new: NewEntry, _ record: ResponseRecord,
        by commit: (NewEntry) async throws(StoreError) -> StoredBody
    ) async throws(StoreError) -> StoredBody? {
        guard var new = try placed(new, record) else { return nil }
        // Each further round follows a change by another request or process.
        for _ in 0..<8 {
            do throws(StoreError) { return try await commit(new) } catch {
                guard error.code == .outdated else { throw error }
            }
            let generation = store.generation(of: new.url)
            guard generation.epoch == new.generation?.epoch else { return nil }
            if try hasLater(than: record, at: new) { return nil }
            new.generation = generation
        }
        return nil
    }

    /// Moves a response that does not vary on all of its query to the key under which requests for equivalent URLs find it. Other responses, and
    /// those whose key is pinned, keep their key.
    ///
    /// - Returns: `nil` if the response must not be stored: its resource was invalidated meanwhile, or a later response is stored.
    private func placed(_ entry: NewEntry, _ record: ResponseRecord) throws(StoreError) -> NewEntry? {
        guard let variance = SearchVariance(record.response.fields),
            let variant = rules.searchVariant(of: record.response, url: record.url), let key = entry.key.request,
            try !store.isPinned(entry.key)
        else { return entry }
        var entry = entry
        entry.key = EntryKey(key.noVarySearch)
        entry.isResumable = false
        entry.variant = variant
        entry.url = variance.canonical(record.url)
        // All URLs with one path are invalidated together.
        let current = store.generation(of: entry.url)
        guard current.epoch == entry.generation?.epoch, try !hasLater(than: record, at: entry) else { return nil }
        entry.generation = current
        return entry
    }

    /// Returns true if the response to a later request is stored in an entry's place.
    func hasLater(than record: ResponseRecord, at new: NewEntry) throws(StoreError) -> Bool {
        let inPlace = try store.entries(for: new.key) { _ in new.variant }.first { $0.variant == new.variant }
        let later = inPlace.flatMap { ResponseRecord(decoding: $0.metadata)?.response.requestTime }
        guard let later else { return false }
        return later > record.response.requestTime && !CacheRules.clockWentBack(since: later, now: now())
    }

    /// Updates the stored responses after a 304, and opens the one to serve; `nil` if it was removed.
    func confirm(
        _ result: TransferResult, _ conditional: ConditionalRequest, _ resolved: ResolvedRequest
    ) async throws(ImageCacheError) -> CachedFile? {
        guard let validation = conditional.validation else {
            if resolved.request.changedSince != nil { throw .failure(result, resolved) }
            throw ImageCacheError(
                .wrongBytes, url: resolved.request.url,
                message: "the server said 304 (Not Modified) although nothing was asked")
        }
        let candidates = conditional.candidates
        let outcome = rules.afterNotModified(
            HTTPResponse(status: result.head.status, headerFields: result.head.fields), validation: validation,
            stored: candidates.map(\.record.response), request: resolved.cacheRequest,
            redirects: result.head.storedRedirects, finalURL: result.head.finalURL,
            requestTime: result.head.requestTime, responseTime: result.head.responseTime)
        guard case .refreshed(let refreshed) = outcome else { return nil }
        // The first of them is served.
        var first: StoredCandidate?
        for refreshed in refreshed {
            let updated = try await update(
                candidates[refreshed.candidate], with: refreshed.response, holds: first == nil)
            if updated == nil, first == nil { return nil }
            first = first ?? updated
        }
        guard let answer = first else { return nil }
        var status = conditional.status
        status.forwardStatus = result.head.status.code
        status.stored = true
        status.timeToLive = remainingLifetime(of: answer.record.response, resolved)
        return try open(answer, for: resolved, as: .revalidated, status, bytesTransferred: result.bytesReceived)
    }

    /// Updates the fields of a stored response.
    ///
    /// - Parameter holds: True to hold its body from then on, if the store holds bodies.
    /// - Returns: The updated response; `nil` if it was removed, even if a reader still has its body.
    func update(
        _ candidate: StoredCandidate, with response: StoredResponse, holds: Bool
    ) async throws(ImageCacheError) -> StoredCandidate? {
        var candidate = candidate
        candidate.record.response = response
        do throws(StoreError) {
            if candidate.made.isEmpty {
                guard
                    let after = try await store.updateMetadata(
                        of: candidate.entry, candidate.record.encoded,
                        variant: variant(of: response, at: candidate.entry), holds: holds, on: executor)
                else { return nil }
                candidate.generation = after
                candidate.isHeld = holds
            }
            for index in candidate.made.indices {
                candidate.made[index].record.response = candidate.record
                let made = candidate.made[index]
                let after = try await store.updateMetadata(
                    of: made.entry, made.record.encoded, holds: false, on: executor)
                candidate.generation = after ?? candidate.generation
            }
        } catch {
            throw ImageCacheError(error)
        }
        return candidate
    }

    /// The variant of an updated response; `nil` to keep the entry's variant.
    private func variant(of response: StoredResponse, at entry: StoredEntry) -> String? {
        entry.key.isOfNoVarySearch ? nil : rules.variantKey(of: response)
    }

    func remainingLifetime(of response: StoredResponse, _ resolved: ResolvedRequest) -> Int? {
        rules.served(response, for: resolved.cacheRequest, now: now())?.remainingLifetime
    }

    // MARK: What a response replaces or makes invalid

    /// Removes the stored responses that the origin was asked to validate and that a stored body replaces (RFC 9111 section 4.3.3), including other
    /// variants, and the images made from them.
    ///
    /// - Returns: The file with the generation after the removal.
    func replace(_ conditional: ConditionalRequest, by file: CachedFile, _ resolved: ResolvedRequest) -> CachedFile {
        guard file.isStored, !conditional.candidates.isEmpty else { return file }
        let replaced = (conditional.validation?.candidates ?? []).map { conditional.candidates[$0].entry }
            .filter { $0.id != file.body.entry.id }
        var file = file
        let after = try? store.remove(
            replaced, and: EntryKey(.derivedImages(resolved.requestKey)), replacedIn: file.generation)
        if let after { file.generation = after }
        return file
    }

    /// Removes those stored responses of a resource that is gone that answer the request in its own namespace, and the images made from them. Others
    /// stay: those of equivalent URLs, other variants, those that are pinned, and those that have changed since the look-up.
    func remove(_ candidates: [StoredCandidate], of resolved: ResolvedRequest) {
        guard (try? store.isPinned(resolved.key)) == false else { return }
        let gone = candidates.filter { candidate in
            candidate.record.url.hasSameBytes(as: resolved.url)
                && StoreKey(candidate.entry.key.value)?.namespace == resolved.namespace
                && rules.isSelected(candidate.record.response, by: resolved.cacheRequest.fields)
                && (try? store.isPinned(candidate.entry.key)) == false && store.isCurrent(candidate.generation)
        }
        if gone.isEmpty { return }
        // Before the removal, so that concurrent requests do not use the tier.
        tier?.invalidate([resolved.key], url: resolved.url, allOwners: false)
        for candidate in gone {
            // A failure only means that a later request learns again that the resource is gone.
            _ = try? store.remove(
                [candidate.entry], and: EntryKey(.derivedImages(resolved.requestKey)), replacedIn: candidate.generation)
        }
    }

    /// Invalidates the stored responses for the URLs of a successful unsafe request (RFC 9111 section 4.4), and the images made from them, in the
    /// request's own namespace and in the shared one.
    ///
    /// - Parameter generation: The generation in which the request began.
    /// - Returns: The generation that the response to the request belongs to.
    func invalidate(after head: ResponseHead, _ resolved: ResolvedRequest, _ generation: Generation) -> Generation {
        invalidate(after: HTTPResponse(status: head.status, headerFields: head.fields), resolved, generation)
    }

    func invalidate(after response: HTTPResponse, _ resolved: ResolvedRequest, _ generation: Generation) -> Generation {
        var generation = generation
        for url in rules.urlsInvalidated(by: response, to: resolved.cacheRequest) {
            // A failure of the store is reported by the commit, which fails too.
            hotResponses.forget(url, of: resolved.request.owner)
            let requests = resolved.requestKeys(ofURL: url)
            tier?.invalidate(
                requests.map { EntryKey(.response($0)) }, url: rules.keyURL(of: url),
                allOwners: resolved.namespace != .shared)
            let wasCurrent = store.isCurrent(generation.epoch)
            _ = try? store.remove(requests.flatMap(\.removedKeys), invalidating: .resource(url))
            if wasCurrent { generation = store.generation(of: resolved.url) }
        }
        return generation
    }
}
