import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Locking
import Transfer

/// The origin's side of a request that is passed on.
extension Loader {
    /// The fetch of a response, begun for whoever asked first.
    ///
    /// - Parameter consumer: ``Consumer/response(_:publishing:)``.
    func respond(
        _ resolved: ResolvedRequest, _ task: FetchPool.SharedTask, for consumer: Consumer
    ) async throws(ImageCacheError) -> CachedFile {
        try await starting(task.context, resolved) { () async throws(ImageCacheError) in
            try await load(resolved, task, for: consumer)
        }
    }

    /// Tells those of the fetch's end who still wait for its start.
    func starting(
        _ fetch: Fetch, _ resolved: ResolvedRequest, _ work: () async throws(ImageCacheError) -> CachedFile
    ) async throws(ImageCacheError) -> CachedFile {
        defer { fetch.end() }
        do throws(ImageCacheError) {
            let file = try await work()
            fetch.start.fulfill(.file(file))
            return file
        } catch {
            let error = error.with(url: resolved.request.url)
            fetch.start.fulfill(.failed(error))
            throw error
        }
    }

    /// Asks the origin, gives the response's start as soon as it is known, and stores the body if it may be.
    ///
    /// - Parameters:
    ///   - lock: The key's, if it is held. Released as soon as nobody else can use the response.
    ///   - publishing: The key that others find the fetch by, from when the response is known to be for all.
    /// - Throws: `.notStorable` after a response that went past the store.
    func fetchResponse(
        _ resolved: ResolvedRequest, _ conditional: ConditionalRequest, _ generation: Generation,
        _ task: FetchPool.SharedTask, lock: KeyLock?,
        publishing: FetchKey?
    ) async throws(ImageCacheError) -> CachedFile {
        let fetch = task.context
        sweeper?.startOnce()
        let writer = try beginBody(resolved, generation)
        let download = DownloadSink(resolved: resolved, rules: rules, writer: writer, fetch: fetch)
        let sink = ForwardingSink(
            resolved: resolved, rules: rules, fetch: fetch, status: conditional.status,
            whole: .init(download: download, writer: writer),
            makeStoring: { [store, rules] in
                let writer = try store.beginBody(for: resolved.key.ofStatus)
                writer.epoch = generation.epoch
                return .init(
                    download: DownloadSink(resolved: resolved, rules: rules, writer: writer, fetch: fetch),
                    writer: writer)
            },
            warnings: warnings,
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
        let result: TransferResult
        do throws(TransferError) {
            result = try await transport.run(
                resolved.transferRequest(conditional), into: sink,
                events: { resolved.report($0, to: fetch) })
        } catch {
            sink.passed?.finish(.failure(ImageCacheError(error)))
            sink.leavePartials()
            if let stale = try openStale(after: error, conditional, resolved) {
                // Whoever has the head, or bytes, of what was cut must not get the rest of this one.
                fetch.growth.restart()
                return stale
            }
            throw ImageCacheError(error)
        }
        let generation = invalidate(after: result.head, resolved, generation)
        var status = conditional.status
        status.forwardStatus = result.head.status.code
        if let passed = sink.passed {
            passed.finish(.success(()))
            sink.leavePartials()
            throw ImageCacheError(.notStorable, url: resolved.url, message: "was passed on, and must not be stored")
        }
        switch result.outcome {
        case .body:
            guard let target = sink.target else { break }
            fetch.report { $0.phase = .storing }
            let file: CachedFile
            do throws(ImageCacheError) {
                file = try store(
                    result, sink: target.download, writer: target.writer, resolved: resolved, status, generation)
            } catch {
                warnings.note(error)
                // What was changed on disk meanwhile is not what came: nobody gets the rest of it.
                if error.isOfAlteredPartial { sink.leavePartials() } else { sink.giveUnstored(target) }
                throw error
            }
            if target.writer !== writer { download.leavePartial() }
            return replace(conditional, by: file, resolved)
        case .notModified:
            try? writer.discard()
            if let validation = conditional.validation {
                return try await confirm(
                    result, validation: validation, candidates: conditional.candidates, resolved: resolved, status
                ) { (anew) async throws(ImageCacheError) in
                    try await fetchResponse(
                        resolved, anew, generation, task, lock: lock, publishing: publishing)
                }
            }
        case .status: sink.leavePartials()
        }
        throw ImageCacheError(
            .wrongBytes, url: resolved.url, message: "the server answered \(result.head.status) to what was not asked")
    }

    /// Answers from the body that another load of this process brings, such as a thumbnail's original, if that is an answer to
    /// this request.
    ///
    /// - Returns: The file; `nil`: the origin is to be asked.
    func follow(
        _ other: RunningFetches.Running, _ resolved: ResolvedRequest, _ conditional: ConditionalRequest, _ fetch: Fetch
    ) async throws(ImageCacheError) -> CachedFile? {
        guard let subscription = pool.join(other.task) else { return nil }
        guard let followable = await subscription.context.followable.value() else { throw .cancelled }
        guard let followable, case .complete(let length?) = followable.response.extent,
            FetchTerms(resolved).mayFollow(other.terms, length: length),
            rules.variantKey(of: resolved.cacheRequest.fields, for: followable.response.fields) != nil,
            rules.isSelected(followable.response, by: resolved.cacheRequest.fields)
        else { return nil }
        var status = conditional.status
        status.forwardStatus = followable.response.status.code
        status.stored = true
        status.collapsed = true
        fetch.start.fulfill(
            .growing(followable.response, status, version: followable.version, subscription.context.growth))
        // Readers have the head: what fails now fails for them.
        return try await subscription.value()
    }

    /// Sends a request on whose response answers nobody else, but for a POST's that says it answers a later GET (RFC 9110
    /// section 9.3.3). Returns when the response has ended.
    ///
    /// - Returns: what was stored.
    /// - Throws: `.notStorable` after a response that went past the store.
    func passOn(
        _ resolved: ResolvedRequest, _ status: CacheStatus, _ fetch: Fetch
    ) async throws(ImageCacheError) -> CachedFile {
        let generation = store.generation(of: resolved.url)
        let sink = ForwardingSink(
            resolved: resolved, rules: rules, fetch: fetch, status: status,
            makeStoring: { [store, rules] in
                guard resolved.request.method == .post else { throw CancellationError() }
                let writer = try store.beginBody(for: resolved.key.ofStatus)
                writer.epoch = generation.epoch
                return .init(
                    download: DownloadSink(resolved: resolved, rules: rules, writer: writer, fetch: fetch),
                    writer: writer)
            }, warnings: warnings,
            began: { fetch.start.fulfill($0) })
        let result: TransferResult
        do throws(TransferError) {
            result = try await transport.run(
                resolved.transferRequest(), into: sink, events: { resolved.report($0, to: fetch) })
        } catch {
            sink.passed?.finish(.failure(ImageCacheError(error)))
            sink.leavePartials()
            throw ImageCacheError(error)
        }
        let after = invalidate(after: result.head, resolved, generation)
        var status = status
        status.forwardStatus = result.head.status.code
        if let passed = sink.passed {
            passed.finish(.success(()))
        } else if let target = sink.target {
            do throws(ImageCacheError) {
                return try store(
                    result, sink: target.download, writer: target.writer, resolved: resolved, status, after)
            } catch {
                warnings.note(error)
                if error.isOfAlteredPartial { sink.leavePartials() } else { sink.giveUnstored(target) }
                throw error
            }
        } else {
            fetch.start.fulfill(.head(result.head.passedOn, status))
        }
        throw ImageCacheError(.notStorable, url: resolved.url, message: "was passed on, and must not be stored")
    }

    private func openStale(
        after error: TransferError, _ conditional: ConditionalRequest, _ resolved: ResolvedRequest
    ) throws(ImageCacheError) -> CachedFile? {
        var status = conditional.status
        let index: Int?
        if let better = error.cause as? ForwardingSink.StaleIsBetter {
            status.forwardStatus = better.head.status.code
            index = conditional.staleCandidate(for: resolved, after: better.head.status, by: self)
        } else {
            index = error.code == .cancelled || error.code == .refusedBySink ? nil : conditional.fallback
        }
        guard let index else { return nil }
        return try openStale(
            conditional.candidates[index], for: resolved, status, bytesTransferred: error.bytesReceived)
    }
}

extension EntryKey {
    /// For what arrives of a body that belongs to another status than 200.
    fileprivate var ofStatus: EntryKey { EntryKey("status " + value) }
}
