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
    /// - Parameters:
    ///   - generation: The one that the request begins in.
    ///   - lock: The key's, if it is held. Released as soon as nobody else can use the response.
    ///   - repairs: How often blocks of a file that somebody else changed on disk before the commit are fetched again.
    ///   - received: Bytes that crossed the network for this request before.
    /// - Throws: `.notStorable` after a response that went past the store.
    func askOrigin(
        _ resolved: ResolvedRequest, _ conditional: ConditionalRequest, _ generation: Generation,
        _ task: FetchPool.SharedTask, for consumer: Consumer, lock: KeyLock?, repairs: Int = 3, received: Int64 = 0
    ) async throws(ImageCacheError) -> CachedFile {
        let fetch = task.context
        sweeper?.startOnce()
        let sink = try responseSink(resolved, conditional, generation, task, for: consumer, lock: lock)
        var result: TransferResult
        do throws(TransferError) {
            result = try await transport.run(
                resolved.transferRequest(conditional), into: sink, events: { resolved.report($0, to: fetch) })
            result.bytesReceived += received
        } catch {
            sink.passed?.finish(.failure(ImageCacheError(error)))
            if (error.cause as? StoreError)?.code == .tooLarge { sink.discard() } else { sink.leavePartials() }
            return try stale(after: error, conditional, resolved, consumer, fetch)
        }

        let generation = invalidate(after: result.head, resolved, generation)
        if let passed = sink.passed {
            passed.finish(.success(()))
            sink.leavePartials()
            throw ImageCacheError(.notStorable, url: resolved.url, message: "was passed on, and must not be stored")
        }
        switch result.outcome {
        case .body:
            do throws(ImageCacheError) {
                return try await store(result, from: sink, resolved, conditional, generation, fetch)
            } catch  where error.isOfAlteredPartial && consumer.isFile && repairs > 0 {
                // Whoever followed the file may have read what was changed.
                fetch.growth.restart()
                sink.leavePartials()
                return try await askOrigin(
                    resolved, conditional, generation, task, for: consumer, lock: lock, repairs: repairs - 1,
                    received: result.bytesReceived)
            } catch {
                // What was changed on disk meanwhile is not what came: nobody gets the rest of it.
                if error.isOfAlteredPartial { sink.leavePartials() }
                if !consumer.isFile {
                    warnings.note(error)
                    if !error.isOfAlteredPartial { sink.giveUnstored() }
                }
                throw error
            }
        case .notModified:
            sink.discard()
            if let file = try confirm(result, conditional, resolved) { return file }
            // What the origin confirmed is not here (any more).
            return try await askOrigin(
                resolved, ConditionalRequest(CacheForward(reason: .uriMiss)), generation, task, for: consumer,
                lock: lock)
        case .status:
            sink.leavePartials()
            let stale = try fail(result, conditional, resolved: resolved)
            fetch.growth.restart()
            return stale
        }
    }

    /// The place where a response goes.
    private func responseSink(
        _ resolved: ResolvedRequest, _ conditional: ConditionalRequest, _ generation: Generation,
        _ task: FetchPool.SharedTask, for consumer: Consumer, lock: KeyLock?
    ) throws(ImageCacheError) -> ResponseSink {
        let fetch = task.context
        let storing = { (writer: BodyWriter) in
            ResponseSink.Storing(
                download: DownloadSink(resolved: resolved, rules: rules, writer: writer, fetch: fetch), writer: writer)
        }
        let whole = storing(try beginBody(resolved.partialKey, generation))
        guard case .response(_, let publishing) = consumer else {
            return ResponseSink(
                resolved: resolved, rules: rules, fetch: fetch, status: conditional.status, isForFile: true,
                whole: whole, began: { _ in })
        }
        return ResponseSink(
            resolved: resolved, rules: rules, fetch: fetch, status: conditional.status, whole: whole,
            makeStoring: { storing(try beginBody(resolved.key.ofStatus, generation)) }, warnings: warnings,
            mayServeStale: { conditional.staleCandidate(for: resolved, after: $0, by: self) != nil },
            mayStore: { rules.mayTakePlace(of: conditional.candidates.map(\.record.response), $0) },
            began: { [pool] start in
                // What goes past the store is of no use to anybody who comes later, here or in another process.
                if case .passed = start {
                    lock?.release()
                    pool.withdraw(task)
                } else if let publishing {
                    pool.publish(task, under: publishing)
                }
                fetch.start.fulfill(start)
            })
    }

    /// Stores a body that has come whole; a file that must be stored, and was invalidated meanwhile, is confirmed first.
    private func store(
        _ result: TransferResult, from sink: ResponseSink, _ resolved: ResolvedRequest,
        _ conditional: ConditionalRequest, _ generation: Generation, _ fetch: Fetch
    ) async throws(ImageCacheError) -> CachedFile {
        guard let target = sink.target else {
            throw ImageCacheError(.wrongBytes, url: resolved.url, message: "the transfer ended without a response")
        }
        let generation = try await renew(generation, of: resolved, target.download, target.writer)
        fetch.report { $0.phase = .storing }
        var status = conditional.status
        status.forwardStatus = result.head.status.code
        let file = try store(
            result, sink: target.download, writer: target.writer, resolved: resolved, status, generation)
        if !file.isStored, resolved.request.unstorable == .refuse {
            // A later request's response is in its place, or somebody purges again and again.
            if let later = try storedSince(file.response.requestTime, besides: [], resolved, status) { return later }
            throw ImageCacheError(
                .notStorable, url: resolved.request.url, message: "was purged while it was downloaded; try again")
        }
        sink.leaveOther()
        return replace(conditional, by: file, resolved)
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
}

extension EntryKey {
    /// For what arrives of a body that belongs to another status than 200.
    var ofStatus: EntryKey { EntryKey("status " + value) }
}
