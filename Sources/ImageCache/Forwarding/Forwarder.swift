import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Locking
import Transfer

/// Answers requests between a client and its origin: from the store, by one request for all who ask at a time, or by
/// passing the answer on.
final class Forwarder: Sendable {
    let loader: Loader
    private var executor: BlockingExecutor { loader.executor }
    private let unshared = Locked(RecentKeys())

    init(loader: Loader) { self.loader = loader }

    func answer(_ request: FileRequest) async throws(ImageCacheError) -> ForwardedAnswer {
        guard request.mayBeStored else { return try await pass(request, because: nil) }
        let question = try Question(request)
        let loader = loader
        let stored = try await withTaskExecutorPreference(executor) { () async throws(ImageCacheError) in
            let stored = try loader.storedAnswer(question) { [weak self] job in self?.refresh(job) }
            if let stored { loader.answers.keep(stored, to: question) }
            return stored as CachedAnswer?
        }
        if let stored { return ForwardedAnswer(stored) }
        if request.method == .head {
            return ForwardedAnswer(
                try await withTaskExecutorPreference(executor) { () async throws(ImageCacheError) in
                    try await loader.head(question)
                })
        }
        let key = question.job.key
        var goesAlone = unshared.withLock { $0.contains(key, now: .now) }
        // The whole of what is perhaps not stored would be too much for a part of it, or a 304.
        if goesAlone, question.isNarrow { return try await pass(request, because: .miss) }
        var variant: String?
        for _ in 0..<3 {
            let subscription = subscribe(to: question.job, variant, alone: goesAlone)
            let isFirst = subscription.isFirst
            guard let start = await subscription.context.start.value() else { throw .cancelled }
            switch start {
            case .failed(let error): throw error
            case .head(let head, let status): return ForwardedAnswer(head, nil, status)
            case .passed(let head, let status, let body):
                guard isFirst else {
                    if question.isNarrow { return try await pass(request, because: .miss) }
                    goesAlone = true
                    continue
                }
                if head.status.kind == .successful { unshared.withLock { $0.insert(key, now: .now) } }
                let reader = PassedBody.Reader(body, keeping: subscription)
                return ForwardedAnswer(head, AnswerContent(.passed(reader), length: head.contentLength), status)
            case .file(let file):
                if isFirst, file.isStored { unshared.withLock { $0.remove(key) } }
                if isFirst || matches(file.response, question) {
                    return ForwardedAnswer(try loader.answer(question, from: file.sharing(!isFirst)))
                }
                variant = variantKey(of: file.response, question)
            case .growing(let response, var status, let version, let growth):
                if isFirst { unshared.withLock { $0.remove(key) } }
                if isFirst || matches(response, question) {
                    if !isFirst { status.collapsed = true }
                    let body = GrowingBody(
                        growth: growth, subscription: subscription, url: question.job.url, version: version)
                    if isFirst { lingerForSmall(response, subscription) }
                    return try await answer(question, from: response, status, body)
                }
                variant = variantKey(of: response, question)
            }
        }
        return try await pass(request, because: .varyMiss)
    }

    // MARK: Following a body

    /// The answer to a request while the body that it is about arrives.
    private func answer(
        _ question: Question, from response: StoredResponse, _ status: CacheStatus, _ body: GrowingBody
    ) async throws(ImageCacheError) -> ForwardedAnswer {
        var body = body
        guard case .complete(let length) = response.extent, body.growth.version == body.version,
            length != nil || !question.asked.fields.contains(.range),
            let served = loader.rules.served(response, for: question.asked, now: loader.now())
        else {
            return ForwardedAnswer(try loader.answer(question, from: try await body.subscription.value()))
        }
        let head = loader.rules.head(of: served, from: response)
        switch served.body {
        case .none: return ForwardedAnswer(head, nil, status)
        case .whole:
            guard response.status.mayHaveContent else { return ForwardedAnswer(head, nil, status) }
            if let length {
                body.range = 0..<length
                body.awaitsStoring = true
            }
            return ForwardedAnswer(head, AnswerContent(.growing(body), length: length), status)
        case .range(let range, _):
            body.range = range
            return ForwardedAnswer(
                head, AnswerContent(.growing(body), length: range.upperBound - range.lowerBound), status)
        }
    }

    private func variantKey(of response: StoredResponse, _ question: Question) -> String? {
        loader.rules.variantKey(of: question.asked.fields, for: response.fields)
    }

    private func matches(_ response: StoredResponse, _ question: Question) -> Bool {
        variantKey(of: response, question) != nil
            && loader.rules.isSelected(response, by: question.asked.fields)
    }

    /// A small body is loaded to its end though nobody reads it any more: who asked whether it changed, and who left, will
    /// come again.
    private func lingerForSmall(_ response: StoredResponse, _ subscription: FetchPool.Subscription) {
        guard case .complete(let length?) = response.extent, length <= 4 << 20 else { return }
        Task.detached(priority: .background) { _ = await subscription.outcome() }
    }

    // MARK: Asking the origin, for all

    /// Joins the fetch that brings the response to a request, or starts one.
    ///
    /// - Parameters:
    ///   - variant: The variant that is wanted, if that is known.
    ///   - alone: Starts a fetch that nobody joins, unless its response turns out to be for all.
    private func subscribe(to job: Job, _ variant: String?, alone: Bool = false) -> FetchPool.Subscription {
        let key = FetchKey.response(
            ResponseKey(
                key: job.key, epoch: loader.store.generation(of: job.url).epoch, terms: FetchTerms(job),
                variant: variant))
        // Another process is not waited for longer than it takes to begin oneself.
        let consumer = Loader.Consumer.response(
            variant == nil && !alone ? .atMost(.seconds(1)) : .none, publishing: alone ? key : nil)
        let shared = alone ? nil : key
        let subscription = loader.pool.subscribe(to: shared, Fetch(job.url, shared), on: executor) {
            [loader] (task) async throws(ImageCacheError) in
            try await loader.respond(job, task, for: consumer)
        }
        subscription.context.raise(to: job.request.priority)
        return subscription
    }

    /// Asks the origin for something newer than what was just served stale.
    private func refresh(_ job: Job) {
        var job = job
        job.cacheRequest.policy = .reloadRevalidatingCacheData
        let subscription = subscribe(to: job, nil)
        Task.detached(priority: .background) { _ = await subscription.outcome() }
    }

    // MARK: Asking the origin, for one

    /// Sends the request on, and the answer back, past the store.
    private func pass(
        _ request: FileRequest, because reason: ForwardReason?
    ) async throws(ImageCacheError) -> ForwardedAnswer {
        let isSafe = [.get, .head, .options, .trace].contains(request.method)
        var request = request
        // What changes something is sent once, also where it could be repeated: only the client knows what it wants then.
        if !isSafe { request.transfer.retry.maxRetries = 0 }
        let job = try Job(passing: request)
        let status = CacheStatus(
            cache: "imgcache", forward: reason ?? (isSafe ? .bypass : .method))
        let subscription = loader.pool.subscribe(to: nil, Fetch(job.url), on: executor) {
            [loader] (task) async throws(ImageCacheError) in
            try await loader.starting(task.context, job) { () async throws(ImageCacheError) in
                try await loader.passOn(job, status, task.context)
            }
        }
        subscription.context.raise(to: job.request.priority)
        guard let start = await subscription.context.start.value() else { throw .cancelled }
        switch start {
        case .passed(let head, let status, let body):
            // Before the client has the head: its next request must not be answered with what this one made invalid.
            if !isSafe {
                await withTaskExecutorPreference(executor) { [loader] in
                    _ = loader.invalidate(after: head, job, loader.store.generation(of: job.url))
                }
            }
            let reader = PassedBody.Reader(body, keeping: subscription)
            return ForwardedAnswer(head, AnswerContent(.passed(reader), length: head.contentLength), status)
        case .growing(let response, let status, let version, let growth):
            var body = GrowingBody(growth: growth, subscription: subscription, url: job.url, version: version)
            let head = HTTPResponse(status: response.status, headerFields: response.fields)
            guard case .complete(let length?) = response.extent else {
                return ForwardedAnswer(head, AnswerContent(.growing(body), length: nil), status)
            }
            body.range = 0..<length
            body.awaitsStoring = true
            return ForwardedAnswer(head, AnswerContent(.growing(body), length: length), status)
        case .head(let head, let status): return ForwardedAnswer(head, nil, status)
        case .failed(let error): throw error
        case .file: throw ImageCacheError(.store(.io), message: "a passed answer is not stored")
        }
    }
}

extension FileRequest {
    /// Whether the answer may come from the store or go there.
    fileprivate var mayBeStored: Bool {
        guard method == .get || method == .head, body == nil else { return false }
        // Preconditions on the state at the origin are not for caches (RFC 9111 section 4.3.2).
        guard !fields.contains(.ifMatch), !fields.contains(.ifUnmodifiedSince) else { return false }
        return !fields[values: .cacheControl].contains { $0.lowercased().contains("no-store") }
    }
}

extension HTTPResponse {
    fileprivate var contentLength: Int64? { headerFields[.contentLength].flatMap { Int64($0) } }
}

extension HTTPResponse.Status {
    fileprivate var mayHaveContent: Bool { code >= 200 && code != 204 && code != 304 }
}

/// Keys whose answers were not storable lately: those who ask for one of them do not wait for each other, each asks the origin.
/// An answer that is storable all the same (not everybody sends a cookie) is stored, and ends that.
private struct RecentKeys {
    private static let life = Duration.seconds(120)
    private static let limit = 4096

    private var ends: [EntryKey: ContinuousClock.Instant] = [:]

    mutating func insert(_ key: EntryKey, now: ContinuousClock.Instant) {
        if ends.count >= Self.limit { ends = ends.filter { $0.value > now } }
        if ends.count >= Self.limit { ends.removeAll() }
        ends[key] = now + Self.life
    }

    mutating func remove(_ key: EntryKey) { ends[key] = nil }

    func contains(_ key: EntryKey, now: ContinuousClock.Instant) -> Bool { ends[key].map { $0 > now } ?? false }
}
