import DiskStore
import HTTPCaching
import HTTPTypes
import Transfer

/// The origin's side of a request that is passed on.
extension Loader {
    /// The fetch of a response, begun for whoever asked first.
    ///
    /// - Parameter consumer: ``Consumer/response(_:publishing:)``.
    func respond(
        _ job: Job, _ task: FetchPool.SharedTask, for consumer: Consumer
    ) async throws(ImageCacheError) -> CachedFile {
        try await starting(task.context, job) { () async throws(ImageCacheError) in
            try await load(job, task, for: consumer)
        }
    }

    /// Tells those of the fetch's end who still wait for its start.
    func starting(
        _ fetch: Fetch, _ job: Job, _ work: () async throws(ImageCacheError) -> CachedFile
    ) async throws(ImageCacheError) -> CachedFile {
        defer { fetch.end() }
        do throws(ImageCacheError) {
            let file = try await work()
            fetch.start.fulfill(.file(file))
            return file
        } catch {
            let error = error.with(url: job.request.url)
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
        _ job: Job, plan: Plan, _ generation: Generation, _ task: FetchPool.SharedTask, lock: KeyLock?,
        publishing: FetchKey?
    ) async throws(ImageCacheError) -> CachedFile {
        let fetch = task.context
        let question = OriginQuestion(plan)
        if let file = question.file { return file }
        sweeper?.startOnce()
        let writer = try beginBody(job, generation)
        let download = DownloadSink(job: job, rules: rules, writer: writer, fetch: fetch)
        let sink = ForwardingSink(
            job: job, rules: rules, fetch: fetch, status: question.status,
            whole: .init(download: download, writer: writer),
            makeStoring: { [store, rules] in
                let writer = try store.beginBody(for: job.key.ofStatus)
                writer.epoch = generation.epoch
                return .init(
                    download: DownloadSink(job: job, rules: rules, writer: writer, fetch: fetch), writer: writer)
            },
            warnings: warnings, mayServeStale: { question.staleCandidate(for: job, after: $0, by: self) != nil },
            mayStore: { rules.mayTakePlace(of: question.candidates.map(\.record.response), $0) },
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
                job.transferRequest(adding: question.conditions, about: question.storedURL), into: sink,
                events: { job.report($0, to: fetch) })
        } catch {
            sink.passed?.finish(.failure(ImageCacheError(error)))
            sink.leavePartials()
            if let stale = try openStale(after: error, question, job) {
                // Whoever has the head, or bytes, of what was cut must not get the rest of this one.
                fetch.growth.restart()
                return stale
            }
            throw ImageCacheError(error)
        }
        let generation = invalidate(after: result.head, job, generation)
        var status = question.status
        status.forwardStatus = result.head.status.code
        if let passed = sink.passed {
            passed.finish(.success(()))
            sink.leavePartials()
            throw ImageCacheError(.notStorable, url: job.url, message: "was passed on, and must not be stored")
        }
        switch result.outcome {
        case .body:
            guard let target = sink.target else { break }
            fetch.report { $0.phase = .storing }
            let file: CachedFile
            do throws(ImageCacheError) {
                file = try store(
                    result, sink: target.download, writer: target.writer, job: job, status, generation)
            } catch {
                warnings.note(error)
                // What was changed on disk meanwhile is not what came: nobody gets the rest of it.
                if error.isOfAlteredPartial { sink.leavePartials() } else { sink.giveUnstored(target) }
                throw error
            }
            if target.writer !== writer { download.leavePartial() }
            return replace(question, by: file, job)
        case .notModified:
            try? writer.discard()
            if let validation = question.validation {
                return try await confirm(
                    result, validation: validation, candidates: question.candidates, job: job, status
                ) { (anew) async throws(ImageCacheError) in
                    try await fetchResponse(
                        job, plan: anew, generation, task, lock: lock, publishing: publishing)
                }
            }
        case .status: sink.leavePartials()
        }
        throw ImageCacheError(
            .wrongBytes, url: job.url, message: "the server answered \(result.head.status) to what was not asked")
    }

    /// Answers from the body that another load of this process brings, such as a thumbnail's original, if that is an answer to
    /// this request.
    ///
    /// - Returns: The file; `nil`: the origin is to be asked.
    func follow(
        _ other: RunningFetches.Running, _ job: Job, plan: Plan, _ fetch: Fetch
    ) async throws(ImageCacheError) -> CachedFile? {
        guard let subscription = pool.join(other.task) else { return nil }
        guard let followable = await subscription.context.followable.value() else { throw .cancelled }
        guard let followable, case .complete(let length?) = followable.response.extent,
            FetchTerms(job).mayFollow(other.terms, length: length),
            rules.variantKey(of: job.cacheRequest.fields, for: followable.response.fields) != nil,
            rules.isSelected(followable.response, by: job.cacheRequest.fields)
        else { return nil }
        var status = OriginQuestion(plan).status
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
        _ job: Job, _ status: CacheStatus, _ fetch: Fetch
    ) async throws(ImageCacheError) -> CachedFile {
        let generation = store.generation(of: job.url)
        let sink = ForwardingSink(
            job: job, rules: rules, fetch: fetch, status: status,
            makeStoring: { [store, rules] in
                guard job.request.method == .post else { throw CancellationError() }
                let writer = try store.beginBody(for: job.key.ofStatus)
                writer.epoch = generation.epoch
                return .init(
                    download: DownloadSink(job: job, rules: rules, writer: writer, fetch: fetch), writer: writer)
            }, warnings: warnings,
            began: { fetch.start.fulfill($0) })
        let result: TransferResult
        do throws(TransferError) {
            result = try await transport.run(
                job.transferRequest(adding: HTTPFields()), into: sink, events: { job.report($0, to: fetch) })
        } catch {
            sink.passed?.finish(.failure(ImageCacheError(error)))
            sink.leavePartials()
            throw ImageCacheError(error)
        }
        let after = invalidate(after: result.head, job, generation)
        var status = status
        status.forwardStatus = result.head.status.code
        if let passed = sink.passed {
            passed.finish(.success(()))
        } else if let target = sink.target {
            do throws(ImageCacheError) {
                return try store(
                    result, sink: target.download, writer: target.writer, job: job, status, after)
            } catch {
                warnings.note(error)
                if error.isOfAlteredPartial { sink.leavePartials() } else { sink.giveUnstored(target) }
                throw error
            }
        } else {
            fetch.start.fulfill(.head(result.head.passedOn, status))
        }
        throw ImageCacheError(.notStorable, url: job.url, message: "was passed on, and must not be stored")
    }

    private func openStale(
        after error: TransferError, _ question: OriginQuestion, _ job: Job
    ) throws(ImageCacheError) -> CachedFile? {
        var status = question.status
        let index: Int?
        if let better = error.cause as? ForwardingSink.StaleIsBetter {
            status.forwardStatus = better.head.status.code
            index = question.staleCandidate(for: job, after: better.head.status, by: self)
        } else {
            index = error.code == .cancelled || error.code == .refusedBySink ? nil : question.fallback
        }
        guard let index else { return nil }
        return try openStale(question.candidates[index], for: job, status, bytesTransferred: error.bytesReceived)
    }
}

extension EntryKey {
    /// For what arrives of a body that belongs to another status than 200.
    fileprivate var ofStatus: EntryKey { EntryKey("status " + value) }
}
