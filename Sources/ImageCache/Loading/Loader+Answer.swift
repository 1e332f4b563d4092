import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Transfer

/// Requests that are about a part of a file, its head, or whether it changed.
struct Question: Sendable {
    /// The GET of the whole file that answers it.
    let whole: FileRequest
    let job: Job
    /// The request as it was asked.
    let asked: CacheRequest

    /// The fields that make an answer something else than the whole representation.
    private static let narrowing: [HTTPField.Name] = [.range, .ifRange, .ifNoneMatch, .ifModifiedSince]

    /// Whether it asks for something else than the whole.
    var isNarrow: Bool { Self.narrowing.contains { asked.fields.contains($0) } }

    init(_ request: FileRequest) throws(ImageCacheError) {
        guard request.method == .get || request.method == .head else {
            throw ImageCacheError(.invalidRequest, message: "\(request.method) has no parts; only GET and HEAD have")
        }
        var whole = request
        whole.method = .get
        for name in Self.narrowing { whole.fields[name] = nil }
        self.whole = whole
        job = try Job(whole)
        var asked = job.cacheRequest
        asked.method = request.method
        asked.fields = Job.sentFields(request)
        self.asked = asked
    }
}

extension Loader {
    /// The store's answer, if it may answer without a word to the origin.
    ///
    /// - Parameter refresh: called when it answers with something stale that is to be made fresh in the background.
    func storedAnswer(_ question: Question, refresh: (Job) -> Void) throws(ImageCacheError) -> CachedAnswer? {
        let job = question.job
        var candidates = try candidates(for: job)
        var partial = try partialCandidate(for: job)
        while true {
            let stored = candidates.map(\.record.response) + (partial.map { [$0.response] } ?? [])
            let decision = rules.decide(question.asked, stored: stored, now: now())
            let served: ServedResponse
            switch decision {
            case .serve(let answer): served = answer
            case .serveAndRevalidate(let answer, _):
                guard revalidatesInBackground else { return nil }
                refresh(job)
                served = answer
            case .fail(let failure):
                guard failure.reason == .onlyIfCached else { throw Self.notCached(job) }
                return CachedAnswer(HTTPResponse(status: .gatewayTimeout), decision.cacheStatus())
            case .validate, .forward: return nil
            }
            let head = rules.head(of: served, from: stored[served.candidate])
            if served.candidate < candidates.count {
                if let file = try open(candidates[served.candidate], for: job, served, decision) {
                    return CachedAnswer(head, served.range(of: file.size), of: file)
                }
                candidates.remove(at: served.candidate)
            } else {
                if let body = partial?.body, let range = served.range(of: nil), try isSound(range, of: body) {
                    return CachedAnswer(head, range, of: body, decision.cacheStatus())
                }
                partial = nil
            }
        }
    }

    /// What a file that was just loaded says to the question.
    func answer(_ question: Question, from file: CachedFile) throws(ImageCacheError) -> CachedAnswer {
        var response = file.response
        response.extent = .complete(length: file.size)
        guard let served = rules.served(response, for: question.asked, now: now()) else {
            throw ImageCacheError(
                .wrongBytes, url: question.job.url, message: "what was loaded does not answer the request")
        }
        return CachedAnswer(rules.head(of: served, from: response), served.range(of: file.size), of: file)
    }

    /// Asks the origin for a file's head alone, and lets what is stored learn from it (RFC 9111 section 4.3.5).
    func head(_ question: Question) async throws(ImageCacheError) -> CachedAnswer {
        let job = question.job
        var request = job.transferRequest(adding: HTTPFields())
        request.method = .head
        let candidates = try candidates(for: job)
        let decision = rules.decide(question.asked, stored: candidates.map(\.record.response), now: now())
        for field in decision.conditionsOfForward { request.fields[field.name] = field.value }
        let result: TransferResult
        do throws(TransferError) {
            result = try await transport.run(request, into: NoBody())
        } catch {
            throw ImageCacheError(error)
        }
        let response = HTTPResponse(
            status: result.head.status, headerFields: CacheRules.endToEndFields(of: result.head.fields))
        if response.status.kind != .successful {
            guard job.request.transfer.passesEveryStatus else { throw Self.failure(result, job) }
            var status = decision.cacheStatus()
            status.forwardStatus = response.status.code
            return CachedAnswer(response, status)
        }
        for refreshed in rules.afterHead(
            response, to: question.asked, stored: candidates.map(\.record.response), finalURL: result.head.finalURL,
            requestTime: result.head.requestTime, responseTime: result.head.responseTime)
        {
            _ = try update(candidates[refreshed.candidate], with: refreshed.response)
        }
        let received = rules.stored(
            response, to: question.asked, redirects: result.head.storedRedirects, finalURL: result.head.finalURL,
            requestTime: result.head.requestTime, responseTime: result.head.responseTime)
        var status = decision.cacheStatus()
        status.forwardStatus = result.head.status.code
        guard let served = rules.served(received, for: question.asked, now: now()) else {
            return CachedAnswer(HTTPResponse(status: received.status, headerFields: received.fields), status)
        }
        return CachedAnswer(rules.head(of: served, from: received), status)
    }

    // MARK: Partials

    private struct PartialCandidate {
        var body: PartialBody
        var response: StoredResponse
    }

    /// What is there of an unfinished download, as an incomplete response (RFC 9111 section 3.3).
    private func partialCandidate(for job: Job) throws(ImageCacheError) -> PartialCandidate? {
        do throws(StoreError) {
            guard let body = try store.openPartial(for: job.key), !body.held.isEmpty,
                let record = ResponseRecord(decoding: body.header)
            else { return nil }
            // A partial of what must not be stored is kept for its own download alone.
            let message = HTTPResponse(status: record.response.status, headerFields: record.response.fields)
            guard case .store = rules.storability(of: message, to: job.cacheRequest, receivedAt: now()) else {
                return nil
            }
            var response = record.response
            response.extent = .partial(held: body.held, total: body.total)
            return PartialCandidate(body: body, response: response)
        } catch {
            throw ImageCacheError(error)
        }
    }

    private func isSound(_ range: Range<Int64>, of body: PartialBody) throws(ImageCacheError) -> Bool {
        do throws(StoreError) { return try body.isSound(range) } catch { throw ImageCacheError(error) }
    }
}

extension ServedResponse {
    /// The bytes of the representation that are the content.
    fileprivate func range(of size: Int64?) -> Range<Int64>? {
        switch body {
        case .none: nil
        case .whole: size.map { 0..<$0 }
        case .range(let range, _): range
        }
    }
}

extension CacheDecision {
    /// What a request that is passed on must say to caches on the way.
    fileprivate var conditionsOfForward: HTTPFields {
        if case .forward(let forward) = self { forward.fields } else { HTTPFields() }
    }
}

/// Takes the answer to HEAD, which has no body.
private final class NoBody: BodySink {
    func held() -> HeldPartial? { nil }
    func begin(_ head: ResponseHead, _ placement: BodyPlacement) {}
    func write(_ bytes: UnsafeRawBufferPointer) -> SinkVerdict { .taken }
    func end(_ ending: AttemptEnding) {}
}
