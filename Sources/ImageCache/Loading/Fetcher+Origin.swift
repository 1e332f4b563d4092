import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Locking
import Transfer

/// The origin's side of a request: the transfer, and what becomes of its answer.
extension Loader {
    /// - Parameters:
    ///   - generation: the one that the request begins in.
    ///   - repairs: how often blocks that somebody else changed on disk before the commit are fetched again.
    ///   - received: bytes that crossed the network for this request before.
    func fetchFile(
        _ resolved: ResolvedRequest, _ conditional: ConditionalRequest, _ generation: Generation, _ fetch: Fetch,
        repairs: Int = 3, received: Int64 = 0
    ) async throws(ImageCacheError) -> CachedFile {
        let candidates = conditional.candidates
        var status = conditional.status

        sweeper?.startOnce()
        let writer = try beginBody(resolved, generation)
        let sink = DownloadSink(resolved: resolved, rules: rules, writer: writer, fetch: fetch)
        var result: TransferResult
        do throws(TransferError) {
            result = try await transport.run(
                resolved.transferRequest(conditional), into: sink,
                events: { resolved.report($0, to: fetch) })
            result.bytesReceived += received
        } catch {
            // What can never fit is not continued either, and would keep its room from others.
            let isTooLarge = (error.cause as? StoreError)?.code == .tooLarge
            if isTooLarge { try? writer.discard() } else { sink.leavePartial() }
            if ![.cancelled, .refusedBySink, .addressRefused].contains(error.code), let index = conditional.fallback,
                let file = try openStale(
                    candidates[index], for: resolved, status, bytesTransferred: error.bytesReceived)
            {
                // Whoever has bytes of what was cut must not get the rest of this one.
                fetch.growth.restart()
                return file
            }
            throw ImageCacheError(error)
        }

        var generation = invalidate(after: result.head, resolved, generation)
        status.forwardStatus = result.head.status.code
        switch result.outcome {
        case .body:
            generation = try await renew(generation, of: resolved, sink, writer)
            fetch.report { $0.phase = .storing }
            let file: CachedFile
            do throws(ImageCacheError) {
                file = try store(result, sink: sink, writer: writer, resolved: resolved, status, generation)
            } catch  where error.isOfAlteredPartial && repairs > 0 {
                // Whoever followed the file may have read what was changed.
                fetch.growth.restart()
                sink.leavePartial()
                return try await fetchFile(
                    resolved, conditional, generation, fetch, repairs: repairs - 1, received: result.bytesReceived)
            }
            if !file.isStored, resolved.request.unstorable == .refuse {
                // A later request's response is in its place, or somebody purges again and again.
                if let later = try storedSince(file.response.requestTime, resolved, status) { return later }
                throw ImageCacheError(
                    .notStorable, url: resolved.request.url, message: "was purged while it was downloaded; try again")
            }
            return replace(conditional, by: file, resolved)
        case .notModified:
            try? writer.discard()
            guard let validation = conditional.validation else {
                throw ImageCacheError(
                    .wrongBytes, url: resolved.request.url,
                    message: "the server said 304 (Not Modified) although nothing was asked")
            }
            return try await confirm(
                result, validation: validation, candidates: candidates, resolved: resolved, status
            ) { (anew) async throws(ImageCacheError) in
                try await fetchFile(resolved, anew, generation, fetch)
            }
        case .status:
            sink.leavePartial()
            let stale = try fail(result, conditional, resolved: resolved, status)
            fetch.growth.restart()
            return stale
        }
    }

    /// A stored body takes the place of what the origin was asked about (RFC 9111 section 4.3.3), also when it is another
    /// variant, and what was made of an original that is no more must not lie around.
    ///
    /// - Returns: The file, in the generation that it then stands for.
    func replace(_ conditional: ConditionalRequest, by file: CachedFile, _ resolved: ResolvedRequest) -> CachedFile {
        guard file.isStored, !conditional.candidates.isEmpty else { return file }
        let replaced = (conditional.validation?.candidates ?? []).map { conditional.candidates[$0].entry }
            .filter { $0.id != file.body.entry.id }
        var file = file
        let after = try? store.remove(replaced, and: resolved.key.ofMadeImages, replacedIn: file.generation)
        if let after { file.generation = after }
        return file
    }

    /// An unsafe request that worked makes what is stored for its URL invalid (RFC 9111 section 4.4), and what was made of that:
    /// the asker's own, and what is everybody's.
    ///
    /// - Parameter generation: the one that the request began in.
    /// - Returns: The generation that its own response belongs to.
    @discardableResult
    func invalidate(after head: ResponseHead, _ resolved: ResolvedRequest, _ generation: Generation) -> Generation {
        invalidate(after: HTTPResponse(status: head.status, headerFields: head.fields), resolved, generation)
    }

    @discardableResult
    func invalidate(after response: HTTPResponse, _ resolved: ResolvedRequest, _ generation: Generation) -> Generation {
        var generation = generation
        for url in rules.urlsInvalidated(by: response, to: resolved.cacheRequest) {
            // A store that fails here fails the commit as well, and says so there.
            answers.forget(url)
            let keys = resolved.keys(ofURL: url).flatMap { [$0, $0.ofMadeImages] }
            let wasCurrent = store.isCurrent(generation.epoch)
            _ = try? store.remove(keys, invalidating: .resource(url))
            if wasCurrent { generation = store.generation(of: resolved.url) }
        }
        return generation
    }

    /// Has the origin confirm a whole body whose resource was invalidated while it came, when only a stored one is of use: by
    /// its validator, with no byte twice; without one it comes anew.
    private func renew(
        _ generation: Generation, of resolved: ResolvedRequest, _ sink: DownloadSink, _ writer: BodyWriter
    ) async throws(ImageCacheError) -> Generation {
        var generation = generation
        for _ in 0..<3 where resolved.request.unstorable == .refuse && !store.isCurrent(generation.epoch) {
            generation = store.generation(of: resolved.url)
            writer.epoch = generation.epoch
            let result: TransferResult
            do throws(TransferError) {
                result = try await transport.run(resolved.transferRequest(), into: sink)
            } catch {
                sink.leavePartial()
                throw ImageCacheError(error)
            }
            guard case .body = result.outcome else {
                sink.leavePartial()
                throw Self.failure(result, resolved)
            }
        }
        return generation
    }

    func beginBody(_ resolved: ResolvedRequest, _ generation: Generation) throws(ImageCacheError) -> BodyWriter {
        do throws(StoreError) {
            let writer = try store.beginBody(for: resolved.key)
            writer.epoch = generation.epoch
            return writer
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// Commits a whole body that was asked for in a generation.
    func store(
        _ result: TransferResult, sink: DownloadSink, writer: BodyWriter, resolved: ResolvedRequest,
        _ status: CacheStatus,
        _ generation: Generation
    ) throws(ImageCacheError) -> CachedFile {
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
            let isForEverybody = rules.isSharedDespiteAuthorization(record.response)
            let key = isForEverybody ? resolved.keyForEverybody ?? resolved.key : resolved.key
            var entry = NewEntry(
                key: key, variant: variant, url: resolved.url, metadata: record.encoded, generation: generation)
            entry.variantLimit = maxVariants
            let stored: StoredBody? = sink.isStorable ? try commit(entry, record, writer) : nil
            let body = if let stored { stored } else { try writer.commitTransient() }
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

    /// Commits a body unless its resource was invalidated since the request began, or an answer to a later request has taken its
    /// place. `nil`: then it is not to be stored.
    private func commit(
        _ new: NewEntry, _ record: ResponseRecord, _ writer: BodyWriter
    ) throws(StoreError) -> StoredBody? {
        var new = new
        // Each further round is a change by somebody else.
        for _ in 0..<8 {
            do throws(StoreError) { return try writer.commit(new) } catch {
                guard error.code == .outdated else { throw error }
            }
            let generation = store.generation(of: new.url)
            guard generation.epoch == new.generation?.epoch else { return nil }
            let inPlace = try store.entries(for: new.key).first { [variant = new.variant] in $0.variant == variant }
            let later = inPlace.flatMap { ResponseRecord(decoding: $0.metadata)?.response.requestTime }
            if let later, later > record.response.requestTime, !CacheRules.clockWentBack(since: later, now: now()) {
                return nil
            }
            new.generation = generation
        }
        return nil
    }

    /// A 304: refreshes what is stored and serves it; if that is gone, `fetchAnew` asks without a condition.
    func confirm(
        _ result: TransferResult, validation: CacheValidation, candidates: [Candidate], resolved: ResolvedRequest,
        _ status: CacheStatus, fetchAnew: (ConditionalRequest) async throws(ImageCacheError) -> CachedFile
    ) async throws(ImageCacheError) -> CachedFile {
        let outcome = rules.afterNotModified(
            HTTPResponse(status: result.head.status, headerFields: result.head.fields), validation: validation,
            stored: candidates.map(\.record.response), request: resolved.cacheRequest,
            redirects: result.head.storedRedirects, finalURL: result.head.finalURL,
            requestTime: result.head.requestTime, responseTime: result.head.responseTime)
        if case .refreshed(let refreshed) = outcome {
            let updated = try refreshed.map { refreshed throws(ImageCacheError) in
                try update(candidates[refreshed.candidate], with: refreshed.response)
            }
            // The first of them answers.
            if let answer = updated.first {
                var status = status
                status.stored = true
                status.timeToLive = remainingLifetime(of: answer.record.response, resolved)
                let file = try open(
                    answer, for: resolved, as: .revalidated, status, bytesTransferred: result.bytesReceived)
                if let file { return file }
            }
        }
        // What the origin confirmed is not here (any more).
        return try await fetchAnew(ConditionalRequest(CacheForward(reason: .uriMiss)))
    }

    func update(_ candidate: Candidate, with response: StoredResponse) throws(ImageCacheError) -> Candidate {
        var candidate = candidate
        candidate.record.response = response
        func note(_ entry: StoredEntry, _ metadata: [UInt8], _ variant: String? = nil) throws(StoreError) {
            // Without the entry there is nothing that the generation could stand for: the one that it was read in is over.
            let after = try store.updateMetadata(of: entry, metadata, variant: variant)
            if let after { candidate.generation = after }
        }
        do throws(StoreError) {
            if candidate.made.isEmpty {
                try note(candidate.entry, candidate.record.encoded, rules.variantKey(of: response))
            }
            for index in candidate.made.indices {
                candidate.made[index].record.response = candidate.record
                try note(candidate.made[index].entry, candidate.made[index].record.encoded)
            }
        } catch {
            throw ImageCacheError(error)
        }
        return candidate
    }

    /// An error status: a stale file where the rules allow it, else the error.
    private func fail(
        _ result: TransferResult, _ conditional: ConditionalRequest, resolved: ResolvedRequest,
        _ cacheStatus: CacheStatus
    ) throws(ImageCacheError) -> CachedFile {
        let status = result.head.status
        if let index = conditional.staleCandidate(for: resolved, after: status, by: self),
            let file = try openStale(
                conditional.candidates[index], for: resolved, cacheStatus, bytesTransferred: result.bytesReceived)
        {
            return file
        }
        throw Self.failure(result, resolved)
    }

    static func failure(_ result: TransferResult, _ resolved: ResolvedRequest) -> ImageCacheError {
        let status = result.head.status
        let reason = status.reasonPhrase.isEmpty ? "\(status.code)" : "\(status.code) \(status.reasonPhrase)"
        let retries = result.retriesEnded.map { " (\($0))" } ?? ""
        return ImageCacheError(
            .status(status.code), url: resolved.request.url, message: "the server answered \(reason)\(retries)")
    }

    // MARK: Stale

    /// Opens what is served although stale, because the origin failed.
    func openStale(
        _ candidate: Candidate, for resolved: ResolvedRequest, _ status: CacheStatus, bytesTransferred: Int64
    ) throws(ImageCacheError) -> CachedFile? {
        var status = status
        status.detail = StaleReason.originFailed.detail
        status.timeToLive = remainingLifetime(of: candidate.record.response, resolved)
        return try open(candidate, for: resolved, as: .stale, status, bytesTransferred: bytesTransferred)
    }

    private func remainingLifetime(of response: StoredResponse, _ resolved: ResolvedRequest) -> Int? {
        rules.served(response, for: resolved.cacheRequest, now: now())?.remainingLifetime
    }
}
