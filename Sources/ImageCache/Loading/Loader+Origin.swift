import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Locking
import Transfer

/// The origin's side of a request: the transfer, and what becomes of its answer.
extension Loader {
    func fetch(_ job: Job, plan: Plan, flight: Flight) async throws(ImageCacheError) -> CachedFile {
        let question = OriginQuestion(plan)
        if let file = question.file { return file }
        let (candidates, validation, fallback) = (question.candidates, question.validation, question.fallback)
        var status = question.status

        sweeper?.startOnce()
        let writer = try beginBody(job)
        let sink = DownloadSink(job: job, rules: rules, writer: writer, growth: flight.growth)
        let result: TransferResult
        do throws(TransferError) {
            result = try await engine.run(
                job.transferRequest(adding: question.conditions, about: question.storedURL), into: sink,
                events: { job.report($0, to: flight) })
        } catch {
            sink.leavePartial()
            if ![.cancelled, .refusedBySink, .addressRefused].contains(error.code), let index = fallback,
                let file = try openStale(candidates[index], for: job, status, bytesTransferred: error.bytesReceived)
            {
                return file
            }
            throw ImageCacheError(error)
        }

        invalidate(after: result.head, job)
        status.forwardStatus = result.head.status.code
        switch result.outcome {
        case .body:
            flight.report { $0.phase = .storing }
            let file = try store(result, sink: sink, writer: writer, job: job, status)
            replace(question, by: file, job)
            return file
        case .notModified:
            try? writer.discard()
            guard let validation else {
                throw ImageCacheError(
                    .wrongBytes, url: job.request.url,
                    message: "the server said 304 (Not Modified) although nothing was asked")
            }
            return try await confirm(
                result, validation: validation, candidates: candidates, job: job, status
            ) { (anew) async throws(ImageCacheError) in try await fetch(job, plan: anew, flight: flight) }
        case .status:
            sink.leavePartial()
            return try fail(result, question, job: job, status)
        }
    }

    /// A stored body takes the place of what the origin was asked about (RFC 9111 section 4.3.3), also when it is another
    /// variant, and what was made of an original that is no more must not lie around.
    func replace(_ question: OriginQuestion, by file: CachedFile, _ job: Job) {
        guard file.isStored, !question.candidates.isEmpty else { return }
        for index in question.validation?.candidates ?? []
        where question.candidates[index].entry.id != file.body.entry.id {
            _ = try? store.remove(question.candidates[index].entry)
        }
        _ = try? store.remove(job.key.ofMadeImages)
    }

    /// An unsafe request that worked makes what is stored for its URL invalid (RFC 9111 section 4.4), and what was made of that:
    /// the asker's own, and what is everybody's.
    func invalidate(after head: ResponseHead, _ job: Job) {
        invalidate(after: HTTPResponse(status: head.status, headerFields: head.fields), job)
    }

    func invalidate(after response: HTTPResponse, _ job: Job) {
        for url in rules.urlsInvalidated(by: response, to: job.cacheRequest) {
            // A store that fails here fails the commit as well, and says so there.
            answers.forget(url)
            for place in job.places(ofURL: url) {
                forgetImages.withLock { $0 }?(place.original)
                _ = try? store.remove(place.key)
                _ = try? store.remove(place.key.ofMadeImages)
            }
        }
    }

    func beginBody(_ job: Job) throws(ImageCacheError) -> BodyWriter {
        do throws(StoreError) { return try store.beginBody(for: job.key) } catch { throw ImageCacheError(error) }
    }

    /// Commits a whole body.
    func store(
        _ result: TransferResult, sink: DownloadSink, writer: BodyWriter, job: Job, _ status: CacheStatus
    ) throws(ImageCacheError) -> CachedFile {
        do throws(ImageCacheError) {
            try sink.checkDigest()
        } catch {
            try? writer.discard()
            var error = error
            error.bytesTransferred = result.bytesReceived
            throw error
        }
        guard let record = sink.record else {
            try? writer.discard()
            throw ImageCacheError(.wrongBytes, url: job.request.url, message: "the transfer ended without a response")
        }
        // `Vary: *` matches no later request (RFC 9111 section 4.1); such a response replaces the one before it.
        let variant =
            rules.variantKey(of: record.response) ?? "*"
        do throws(StoreError) {
            let isForEverybody = rules.isSharedDespiteAuthorization(record.response)
            let key = isForEverybody ? job.keyForEverybody ?? job.key : job.key
            var entry = NewEntry(key: key, variant: variant, url: record.url, metadata: record.encoded)
            entry.variantLimit = maxVariants
            answers.forget(job.url)
            let body = sink.isStorable ? try writer.commit(entry) : try writer.commitTransient()
            var status = status
            status.stored = sink.isStorable
            status.timeToLive = sink.isStorable ? remainingLifetime(of: record.response, job) : nil
            return CachedFile(
                source: result.resumedFrom > 0 ? .networkResumed : .network, bytesTransferred: result.bytesReceived,
                resumedFrom: result.resumedFrom, finalURL: record.finalURL, response: record.response,
                isStored: sink.isStorable, cacheStatus: status, body: body)
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// A 304: refreshes what is stored and serves it; if that is gone, `fetchAnew` asks without a condition.
    func confirm(
        _ result: TransferResult, validation: CacheValidation, candidates: [Candidate], job: Job,
        _ status: CacheStatus, fetchAnew: (Plan) async throws(ImageCacheError) -> CachedFile
    ) async throws(ImageCacheError) -> CachedFile {
        let outcome = rules.afterNotModified(
            HTTPResponse(status: result.head.status, headerFields: result.head.fields), validation: validation,
            stored: candidates.map(\.record.response), request: job.cacheRequest,
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
                status.timeToLive = remainingLifetime(of: answer.record.response, job)
                let file = try open(
                    answer, for: job, as: .revalidated, status, bytesTransferred: result.bytesReceived)
                if let file { return file }
            }
        }
        // What the origin confirmed is not here (any more).
        return try await fetchAnew(.forward(CacheForward(reason: .uriMiss), candidates: []))
    }

    func update(_ candidate: Candidate, with response: StoredResponse) throws(ImageCacheError) -> Candidate {
        var candidate = candidate
        candidate.record.response = response
        answers.forget(candidate.record.url)
        do throws(StoreError) {
            if candidate.made.isEmpty {
                try store.updateMetadata(
                    of: candidate.entry, candidate.record.encoded, variant: rules.variantKey(of: response))
            }
            for index in candidate.made.indices {
                candidate.made[index].record.response = candidate.record
                try store.updateMetadata(of: candidate.made[index].entry, candidate.made[index].record.encoded)
            }
        } catch {
            throw ImageCacheError(error)
        }
        return candidate
    }

    /// An error status: a stale file where the rules allow it, else the error.
    private func fail(
        _ result: TransferResult, _ question: OriginQuestion, job: Job, _ cacheStatus: CacheStatus
    ) throws(ImageCacheError) -> CachedFile {
        let status = result.head.status
        if let index = question.staleCandidate(for: job, after: status, by: self),
            let file = try openStale(
                question.candidates[index], for: job, cacheStatus, bytesTransferred: result.bytesReceived)
        {
            return file
        }
        throw Self.failure(result, job)
    }

    static func failure(_ result: TransferResult, _ job: Job) -> ImageCacheError {
        let status = result.head.status
        let reason = status.reasonPhrase.isEmpty ? "\(status.code)" : "\(status.code) \(status.reasonPhrase)"
        let retries = result.retriesEnded.map { " (\($0))" } ?? ""
        return ImageCacheError(
            .status(status.code), url: job.request.url, message: "the server answered \(reason)\(retries)")
    }

    // MARK: Stale

    /// Opens what is served although stale, because the origin failed.
    func openStale(
        _ candidate: Candidate, for job: Job, _ status: CacheStatus, bytesTransferred: Int64
    ) throws(ImageCacheError) -> CachedFile? {
        var status = status
        status.detail = StaleReason.originFailed.detail
        status.timeToLive = remainingLifetime(of: candidate.record.response, job)
        return try open(candidate, for: job, as: .stale, status, bytesTransferred: bytesTransferred)
    }

    private func remainingLifetime(of response: StoredResponse, _ job: Job) -> Int? {
        rules.served(response, for: job.cacheRequest, now: now())?.remainingLifetime
    }
}
