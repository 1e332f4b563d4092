import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Transfer

/// The way of one request: key, store, decision, lock, transfer, commit.
struct Loader: Sendable {
    let store: DiskStore
    let rules: CacheRules
    let now: @Sendable () -> Date
    private let engine: TransferEngine
    private let revalidatesInBackground: Bool
    private let sweeper: Sweeper?

    init(store: DiskStore, configuration: ImageCache.Configuration) {
        self.store = store
        rules = configuration.rules
        now = configuration.now
        revalidatesInBackground = configuration.revalidatesInBackground
        sweeper = configuration.sweepsInBackground ? Sweeper(store: store) : nil
        var limits = TransferEngine.Configuration()
        limits.maxTransfers = configuration.maxTransfers
        limits.now = configuration.now
        limits.maxPerHost = configuration.maxTransfersPerHost
        engine = TransferEngine(configuration: limits)
    }

    func load(_ request: FileRequest, flight: Flight) async throws(ImageCacheError) -> CachedFile {
        let job = try Job(request)
        let began = now()
        var plan = try answer(job, flight: flight)
        if case .file(let file) = plan { return file }

        let lock: KeyLock
        do {
            if let free = try store.tryLock(job.key) {
                lock = free
            } else {
                flight.report { $0.phase = .waitingForOther }
                lock = try await store.lock(job.key)
                // The other one may have brought what we came for, whatever our policy says of older entries.
                if let file = try storedSince(began, job) { return file }
                plan = try answer(job, flight: flight)
                if case .file(let file) = plan { return file }
            }
        } catch let error as StoreError {
            throw ImageCacheError(error)
        } catch let error as ImageCacheError {
            throw error
        } catch {
            throw ImageCacheError(.cancelled, url: request.url, message: "cancelled", cause: error)
        }
        defer { lock.release() }
        return try await fetch(job, plan: plan, flight: flight)
    }

    func close() async {
        await sweeper?.stop()
        await engine.shutDown()
        store.close()
    }

    // MARK: The store's answer

    /// What is to be done after a look into the store.
    enum Plan {
        case file(CachedFile)
        /// Ask the origin; `candidates` are the stored responses that the question is about.
        case validate(CacheValidation, candidates: [Candidate])
        case forward(HTTPFields, staleCandidate: Int?, candidates: [Candidate])
    }

    /// A stored response that may answer.
    struct Candidate {
        var entry: StoredEntry
        var record: ResponseRecord
    }

    func candidates(for job: Job) throws(ImageCacheError) -> [Candidate] {
        do throws(StoreError) {
            return try store.entries(for: job.key).compactMap { entry in
                ResponseRecord(decoding: entry.metadata).map { Candidate(entry: entry, record: $0) }
            }
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// The stored file for a request, if it may be served as it is without a word to the origin.
    func stored(_ request: FileRequest) throws(ImageCacheError) -> CachedFile? {
        let job = try Job(request)
        let candidates = try candidates(for: job)
        guard
            case .serve(let served) = rules.decide(
                job.cacheRequest, stored: candidates.map(\.record.response), now: now())
        else { return nil }
        return try open(candidates[served.candidate], for: job, as: served.isStale ? .stale : .disk)
    }

    private func answer(_ job: Job, flight: Flight) throws(ImageCacheError) -> Plan {
        var candidates = try candidates(for: job)
        while true {
            switch rules.decide(job.cacheRequest, stored: candidates.map(\.record.response), now: now()) {
            case .serve(let served):
                let candidate = candidates[served.candidate]
                if let file = try open(candidate, for: job, as: served.isStale ? .stale : .disk) { return .file(file) }
                // The body was gone or damaged: a miss.
                candidates.remove(at: served.candidate)
            case .serveAndRevalidate(let served, let validation):
                guard revalidatesInBackground else { return .validate(validation, candidates: candidates) }
                let candidate = candidates[served.candidate]
                guard let file = try open(candidate, for: job, as: .stale) else {
                    candidates.remove(at: served.candidate)
                    continue
                }
                revalidateInBackground(job)
                return .file(file)
            case .validate(let validation):
                return .validate(validation, candidates: candidates)
            case .forward(let forward):
                return .forward(forward.fields, staleCandidate: forward.staleCandidate, candidates: candidates)
            case .fail:
                throw ImageCacheError(.notCached, url: job.request.url, message: "not in the cache, and offline")
            }
        }
    }

    /// A file that somebody stored while we waited for them.
    private func storedSince(_ began: Date, _ job: Job) throws(ImageCacheError) -> CachedFile? {
        let fresh = try candidates(for: job).filter { $0.record.response.responseTime >= began }
        guard !fresh.isEmpty else { return nil }
        var request = job.cacheRequest
        request.policy = .returnCacheDataDontLoad
        guard case .serve(let served) = rules.decide(request, stored: fresh.map(\.record.response), now: now()) else {
            return nil
        }
        return try open(fresh[served.candidate], for: job, as: .disk)
    }

    private func revalidateInBackground(_ job: Job) {
        Task.detached(priority: .background) {
            let flight = Flight { _ in }
            guard let lock = try? store.tryLock(job.key) else { return }  // somebody is at it
            defer { lock.release() }
            var request = job
            request.cacheRequest.policy = .reloadRevalidatingCacheData
            guard let plan = try? answer(request, flight: flight) else { return }
            _ = try? await fetch(request, plan: plan, flight: flight)
        }
    }

    /// Opens a stored body; `nil` when it is gone or damaged, or has not the SHA-256 that the request names.
    private func open(
        _ candidate: Candidate, for job: Job, as source: CachedFile.Source, bytesTransferred: Int64 = 0
    ) throws(ImageCacheError) -> CachedFile? {
        let body: StoredBody
        do throws(StoreError) {
            guard let stored = try store.open(candidate.entry) else { return nil }
            body = stored
        } catch {
            throw ImageCacheError(error)
        }
        if let expected = job.request.sha256 {
            let digest = try SHA256.digest(ofFile: body.descriptor, size: body.size)
            guard digest.hexadecimal == expected.lowercased() else { return nil }
        }
        do throws(StoreError) {
            try store.touch(candidate.entry)
            return CachedFile(
                source: source, bytesTransferred: bytesTransferred, resumedFrom: 0, finalURL: candidate.record.finalURL,
                response: candidate.record.response, isStored: true, body: body)
        } catch {
            throw ImageCacheError(error)
        }
    }

    // MARK: The origin's answer

    private func fetch(_ job: Job, plan: Plan, flight: Flight) async throws(ImageCacheError) -> CachedFile {
        let candidates: [Candidate]
        let validation: CacheValidation?
        let conditions: HTTPFields
        var fallback: Int?
        switch plan {
        case .file(let file): return file
        case .validate(let question, let stored):
            (candidates, validation, conditions) = (stored, question, question.fields)
            fallback = question.mayServeStaleOnError ? question.candidate : nil
        case .forward(let fields, let staleCandidate, let stored):
            (candidates, validation, conditions) = (stored, nil, fields)
            fallback = staleCandidate
        }

        sweeper?.startOnce()
        let writer = try beginBody(job)
        let sink = DownloadSink(job: job, rules: rules, writer: writer, growth: flight.growth)
        let result: TransferResult
        do throws(TransferError) {
            result = try await engine.run(
                job.transferRequest(adding: conditions), into: sink, events: { job.report($0, to: flight) })
        } catch {
            sink.leavePartial()
            if error.code != .cancelled, error.code != .refusedBySink, let index = fallback,
                let file = try open(candidates[index], for: job, as: .stale, bytesTransferred: error.bytesReceived)
            {
                return file
            }
            throw ImageCacheError(error)
        }

        invalidate(after: result.head, job)
        switch result.outcome {
        case .body:
            flight.report { $0.phase = .storing }
            let file = try store(result, sink: sink, writer: writer, job: job)
            // A full answer to a validation takes the place of what it was about (RFC 9111 section 4.3.3), also when it is
            // another variant.
            for index in validation?.candidates ?? []
            where file.isStored && candidates[index].entry.id != file.body.entry.id {
                _ = try? store.remove(candidates[index].entry)
            }
            return file
        case .notModified:
            try? writer.discard()
            guard let validation else {
                throw ImageCacheError(
                    .wrongBytes, url: job.request.url,
                    message: "the server said 304 (Not Modified) although nothing was asked")
            }
            return try await confirm(
                result, validation: validation, candidates: candidates, job: job, flight: flight)
        case .status:
            sink.leavePartial()
            return try fail(result, validation: validation, candidates: candidates, fallback: fallback, job: job)
        }
    }

    /// An unsafe request that worked makes what is stored for its URL invalid (RFC 9111 section 4.4).
    private func invalidate(after head: ResponseHead, _ job: Job) {
        let response = HTTPResponse(status: head.status, headerFields: head.fields)
        for url in rules.urlsInvalidated(by: response, to: job.cacheRequest) {
            // A store that fails here fails the commit as well, and says so there.
            _ = try? store.remove(job.key(ofURL: url))
        }
    }

    private func beginBody(_ job: Job) throws(ImageCacheError) -> BodyWriter {
        do throws(StoreError) { return try store.beginBody(for: job.key) } catch { throw ImageCacheError(error) }
    }

    /// Commits a whole body.
    private func store(
        _ result: TransferResult, sink: DownloadSink, writer: BodyWriter, job: Job
    ) throws(ImageCacheError) -> CachedFile {
        do throws(ImageCacheError) {
            try sink.checkDigest()
        } catch {
            try? writer.discard()
            throw error
        }
        guard let record = sink.record else {
            try? writer.discard()
            throw ImageCacheError(.wrongBytes, url: job.request.url, message: "the transfer ended without a response")
        }
        // `Vary: *` matches no later request (RFC 9111 section 4.1); such a response replaces the one before it.
        let variant =
            rules.variantKey(
                of: job.request.fields, for: record.response.fields, redirects: record.response.redirects) ?? "*"
        do throws(StoreError) {
            let entry = NewEntry(
                key: job.key, variant: variant, url: record.url, metadata: record.encoded)
            let body = sink.isStorable ? try writer.commit(entry) : try writer.commitTransient()
            return CachedFile(
                source: result.resumedFrom > 0 ? .networkResumed : .network, bytesTransferred: result.bytesReceived,
                resumedFrom: result.resumedFrom, finalURL: record.finalURL, response: record.response,
                isStored: sink.isStorable, body: body)
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// A 304: refreshes what is stored and serves it.
    private func confirm(
        _ result: TransferResult, validation: CacheValidation, candidates: [Candidate], job: Job, flight: Flight
    ) async throws(ImageCacheError) -> CachedFile {
        let outcome = rules.afterNotModified(
            HTTPResponse(status: result.head.status, headerFields: result.head.fields), validation: validation,
            stored: candidates.map(\.record.response), request: job.cacheRequest,
            redirects: result.head.storedRedirects,
            requestTime: result.head.requestTime, responseTime: result.head.responseTime)
        if case .refreshed(let refreshed) = outcome {
            let updated = try refreshed.map { refreshed throws(ImageCacheError) in
                try update(candidates[refreshed.candidate], with: refreshed.response)
            }
            // The first of them answers.
            if let answer = updated.first,
                let file = try open(answer, for: job, as: .revalidated, bytesTransferred: result.bytesReceived)
            {
                return file
            }
        }
        // What the origin confirmed is not here (any more): ask without a condition.
        let anew = Plan.forward(HTTPFields(), staleCandidate: nil, candidates: [])
        return try await fetch(job, plan: anew, flight: flight)
    }

    private func update(_ candidate: Candidate, with response: StoredResponse) throws(ImageCacheError) -> Candidate {
        var candidate = candidate
        candidate.record.response = response
        do throws(StoreError) {
            try store.updateMetadata(of: candidate.entry, candidate.record.encoded)
        } catch {
            throw ImageCacheError(error)
        }
        return candidate
    }

    /// An error status: a stale file where the rules allow it, else the error.
    private func fail(
        _ result: TransferResult, validation: CacheValidation?, candidates: [Candidate], fallback: Int?, job: Job
    ) throws(ImageCacheError) -> CachedFile {
        let status = result.head.status
        if let index = validation?.candidate ?? fallback,
            rules.mayServeStale(
                candidates[index].record.response, after: .status(status), for: job.cacheRequest, now: now()),
            let file = try open(candidates[index], for: job, as: .stale, bytesTransferred: result.bytesReceived)
        {
            return file
        }
        let reason = status.reasonPhrase.isEmpty ? "\(status.code)" : "\(status.code) \(status.reasonPhrase)"
        let retries = result.retriesEnded.map { " (\($0))" } ?? ""
        throw ImageCacheError(
            .status(status.code), url: job.request.url, message: "the server answered \(reason)\(retries)")
    }
}
