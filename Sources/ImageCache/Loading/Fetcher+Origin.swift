import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Transfer

/// The origin's side of a fetch: the transfer, and what becomes of its response.
extension Fetcher {
    /// Asks the origin, tells of the response's start as soon as it is known, and stores the body if it may be: for every consumer.
    ///
    /// - Throws: `.notStorable` after a response that went past the store.
    func askOrigin(_ request: OriginRequest) async throws(ImageCacheError) -> CachedFile {
        // No transport is started for those who have left already.
        if Task.isCancelled { throw .cancelled }
        let (resolved, fetch) = (request.resolved, request.fetch)
        sweeper?.startOnce()
        let sink = try ResponseSink(request, by: self)
        var result: TransferResult
        do throws(TransferError) {
            result = try await transport(for: request).run(
                resolved.transferRequest(request.conditional, for: fetch), into: sink,
                events: { resolved.report($0, to: fetch) })
            result.bytesReceived += request.received
        } catch {
            if let digest = (error.cause as? EqualBodyIsStored)?.digest {
                sink.leavePartials()
                var request = request
                request.received += error.bytesReceived
                if var file = try equalBody(digest, resolved) {
                    file.bytesTransferred = request.received
                    return file
                }
                request.mayReuseBodies = false
                return try await askOrigin(request)
            }
            sink.passed?.finish(.failure(ImageCacheError(error)))
            if (error.cause as? StoreError)?.code == .tooLarge { sink.discard() } else { sink.leavePartials() }
            return try stale(after: error, request)
        }

        var request = request
        request.generation = fetch.invalidateOnce { invalidate(after: result.head, resolved, request.generation) }
        if let passed = sink.passed {
            passed.finish(.success(()))
            sink.leavePartials()
            throw Self.passedOn(resolved)
        }
        if request.consumer.isOneClient, sink.target == nil {
            // A response without content, such as one to HEAD.
            var status = request.conditional.status
            status.forwardStatus = result.head.status.code
            fetch.start.fulfill(.head(result.head.passedOn, status))
            throw Self.passedOn(resolved)
        }
        switch result.outcome {
        case .body:
            do throws(ImageCacheError) {
                return try await store(result, from: sink, request)
            } catch  where error.isOfAlteredPartial && request.mayRepair {
                // Whoever followed the file may have read what was changed.
                fetch.growth.restart()
                sink.leavePartials()
                request.repairs -= 1
                request.received = result.bytesReceived
                return try await askOrigin(request)
            } catch {
                // A partial that was altered on disk differs from the response: its remaining bytes are not given to readers.
                if error.isOfAlteredPartial { sink.leavePartials() }
                if !request.consumer.isFile {
                    warnings.note(error)
                    if !error.isOfAlteredPartial { sink.giveUnstored() }
                }
                throw error
            }
        case .notModified:
            sink.discard()
            if let file = try await confirm(result, request.conditional, resolved) { return file }
            // The confirmed entry is not in the store any more.
            request.conditional = ConditionalRequest(CacheForward(reason: .uriMiss))
            request.repairs = 3
            request.received = 0
            return try await askOrigin(request)
        case .status:
            sink.leavePartials()
            let stale = try fail(result, request.conditional, resolved: resolved)
            fetch.growth.restart()
            return stale
        }
    }

    /// The outcome of a fetch whose response went past the store.
    private static func passedOn(_ resolved: ResolvedRequest) -> ImageCacheError {
        ImageCacheError(.notStorable, url: resolved.url, message: "was passed on, and must not be stored")
    }

    /// Stores a body that has come whole; a file that must be stored, and was invalidated meanwhile, is confirmed first.
    private func store(
        _ result: TransferResult, from sink: ResponseSink, _ request: OriginRequest
    ) async throws(ImageCacheError) -> CachedFile {
        let (resolved, conditional) = (request.resolved, request.conditional)
        guard let target = sink.target else {
            throw ImageCacheError(.wrongBytes, url: resolved.url, message: "the transfer ended without a response")
        }
        let generation = try await renew(request, target.download, target.writer)
        request.fetch.report { $0.phase = .storing }
        var status = conditional.status
        status.forwardStatus = result.head.status.code
        let file = try await store(
            result, sink: target.download, writer: target.writer, resolved: resolved, status, generation)
        if !file.isStored, resolved.request.noStoreBehavior == .fail {
            // A later request's response is in its place, or somebody purges again and again.
            let wait = KeyWait(began: file.response.requestTime, status: status)
            if let later = try stored(since: wait, resolved) { return later }
            throw ImageCacheError(
                .notStorable, url: resolved.request.url, message: "was purged while it was downloaded; try again")
        }
        sink.leaveOther()
        return replace(conditional, by: file, resolved)
    }

    /// Has the origin confirm a whole body whose resource was invalidated while it came, when only a stored one is of use: by
    /// its validator, with no byte twice; without one it comes anew.
    private func renew(
        _ request: OriginRequest, _ sink: DownloadSink, _ writer: BodyWriter
    ) async throws(ImageCacheError) -> Generation {
        let (resolved, fetch) = (request.resolved, request.fetch)
        var generation = request.generation
        for _ in 0..<3
        where resolved.cacheRequest.isSafe && resolved.request.noStoreBehavior == .fail
            && !store.isCurrent(generation.epoch)
        {
            generation = store.generation(of: resolved.url)
            writer.epoch = generation.epoch
            let result: TransferResult
            do throws(TransferError) {
                result = try await transport(for: request).run(
                    resolved.transferRequest(for: fetch), into: sink, events: { resolved.report($0, to: fetch) })
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
}

extension EntryKey {
    /// For what arrives of a body that belongs to another status than 200.
    var ofStatus: EntryKey { EntryKey("status " + value) }
}
