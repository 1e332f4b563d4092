import DiskStore
import HTTPCaching
import HTTPTypes
import Transfer

/// The origin's side of a request that is passed on.
extension Loader {
    typealias Opening = Forwarder.Opening

    /// Asks the origin, tells what to answer with as soon as that is known, and stores the body if it may be.
    ///
    /// - Throws: `.notStorable` after an answer that went past the store.
    func forward(
        _ job: Job, plan: Plan, _ generation: Generation, flight: Flight, _ warnings: StoreWarnings,
        opening: @escaping @Sendable (Opening) -> Void
    ) async throws(ImageCacheError) -> CachedFile {
        let question = OriginQuestion(plan)
        if let file = question.file { return file }
        sweeper?.startOnce()
        let writer = try beginBody(job, generation)
        let download = DownloadSink(job: job, rules: rules, writer: writer, flight: flight)
        let sink = ForwardingSink(
            job: job, rules: rules, flight: flight, whole: .init(download: download, writer: writer),
            makeStoring: { [store, rules] in
                let writer = try store.beginBody(for: job.key.ofStatus)
                writer.epoch = generation.epoch
                return .init(
                    download: DownloadSink(job: job, rules: rules, writer: writer, flight: flight), writer: writer)
            },
            warnings: warnings, mayServeStale: { question.staleCandidate(for: job, after: $0, by: self) != nil },
            mayStore: { rules.mayTakePlace(of: question.candidates.map(\.record.response), $0) },
            began: { opening(opened($0, question.status, flight)) })
        let result: TransferResult
        do throws(TransferError) {
            result = try await transport.run(
                job.transferRequest(adding: question.conditions, about: question.storedURL), into: sink,
                events: { job.report($0, to: flight) })
        } catch {
            sink.passed?.finish(.failure(ImageCacheError(error)))
            sink.leavePartials()
            if let stale = try openStale(after: error, question, job) {
                // Whoever has the head, or bytes, of what was cut must not get the rest of this one.
                flight.growth.restart()
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
            flight.report { $0.phase = .storing }
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
                    try await forward(job, plan: anew, generation, flight: flight, warnings, opening: opening)
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
        _ other: RunningFetches.Fetch, _ job: Job, plan: Plan, flight: Flight, opening: @Sendable (Opening) -> Void
    ) async throws(ImageCacheError) -> CachedFile? {
        guard let interest = other.flight.join() else { return nil }
        guard let start = await other.flight.responseStart.value() else { throw .cancelled }
        guard case .shared(let response, let version) = start,
            case .complete(let length?) = response.extent, FetchTerms(job).mayFollow(other.terms, length: length),
            rules.variantKey(of: job.cacheRequest.fields, for: response.fields) != nil,
            rules.isSelected(response, by: job.cacheRequest.fields)
        else { return nil }
        var status = OriginQuestion(plan).status
        status.forwardStatus = response.status.code
        status.stored = true
        status.collapsed = true
        opening(.growing(response, status, version: version, other.flight.growth))
        // Readers have the head: what fails now fails for them.
        return try await interest.outcome().get()
    }

    /// Sends a request on whose response answers nobody else, but for a POST's that says it answers a later GET (RFC 9110
    /// section 9.3.3). Returns when the response has ended.
    ///
    /// - Returns: what was stored.
    /// - Throws: `.notStorable` after a response that went past the store.
    func pass(
        _ job: Job, _ status: CacheStatus, flight: Flight, _ warnings: StoreWarnings,
        opening: @escaping @Sendable (Opening) -> Void
    ) async throws(ImageCacheError) -> CachedFile {
        let generation = store.generation(of: job.url)
        let sink = ForwardingSink(
            job: job, rules: rules, flight: flight,
            makeStoring: { [store, rules] in
                guard job.request.method == .post else { throw CancellationError() }
                let writer = try store.beginBody(for: job.key.ofStatus)
                writer.epoch = generation.epoch
                return .init(
                    download: DownloadSink(job: job, rules: rules, writer: writer, flight: flight), writer: writer)
            }, warnings: warnings,
            began: { opening(opened($0, status, flight)) })
        let result: TransferResult
        do throws(TransferError) {
            result = try await transport.run(
                job.transferRequest(adding: HTTPFields()), into: sink, events: job.reportInterim)
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
            opening(.head(rules.passedHead(result.head), status))
        }
        throw ImageCacheError(.notStorable, url: job.url, message: "was passed on, and must not be stored")
    }

    /// The beginning of a response, as its readers are told of it.
    private func opened(_ beginning: ForwardingSink.Beginning, _ status: CacheStatus, _ flight: Flight) -> Opening {
        var status = status
        switch beginning {
        case .stored(let response, let version):
            status.forwardStatus = response.status.code
            status.stored = true
            return .growing(response, status, version: version, flight.growth)
        case .passed(let head, let body):
            status.forwardStatus = head.status.code
            return .passed(rules.passedHead(head), status, body)
        }
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

extension CacheRules {
    /// The head of an answer that is passed on (RFC 9110 section 7.6.1).
    fileprivate func passedHead(_ head: ResponseHead) -> HTTPResponse {
        HTTPResponse(status: head.status, headerFields: CacheRules.endToEndFields(of: head.fields))
    }
}

extension EntryKey {
    /// For what arrives of a body that belongs to another status than 200.
    fileprivate var ofStatus: EntryKey { EntryKey("status " + value) }
}
