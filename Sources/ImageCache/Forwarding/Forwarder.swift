import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Locking
import Logging
import Synchronization
import Transfer

/// Answers requests between a client and its origin: from the store, by one request for all who ask at a time, or by
/// passing the answer on.
final class Forwarder: Sendable {
    /// What a load under way will answer: a key, and of a response that varies one variant, once that is known. What began before
    /// an invalidation is for those who asked before it.
    struct FillKey: Hashable {
        var key: EntryKey
        var epoch: Generation.Epoch
        var terms: FetchTerms
        var variant: String?
        /// Set for one that nobody joins.
        var own: UInt64?
    }

    /// One request to the origin that everybody shares who asks for the same thing meanwhile.
    struct Fill: Sendable {
        var url: String
        var flight: Flight
        var opening: Promise<Opening>
    }

    /// What there is to answer with, as soon as there is something.
    enum Opening: Sendable {
        /// A stored file: found, confirmed by the origin, or complete by now.
        case file(CachedFile)
        /// The body goes into the store, and can be followed there.
        case growing(StoredResponse, CacheStatus, version: Int, BodyGrowth)
        /// It goes past the store, to the one who asked first.
        case passed(HTTPResponse, CacheStatus, PassedBody)
        /// It has no body.
        case head(HTTPResponse, CacheStatus)
        case failed(ImageCacheError)
    }

    let loader: Loader
    private let executor: BlockingExecutor
    private let fills = Locked<[FillKey: Fill]>([:])
    private let warnings: StoreWarnings
    private let unshared = Locked(RecentKeys())
    private let lastOwn = Atomic<UInt64>(0)

    init(loader: Loader, executor: BlockingExecutor, logger: Logger) {
        warnings = StoreWarnings(logger: logger)
        self.loader = loader
        self.executor = executor
    }

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
            let (fill, interest, isFirst) = goesAlone ? begin(question) : join(question, variant)
            guard let opening = await fill.opening.value() else { throw .cancelled }
            switch opening {
            case .failed(let error): throw error
            case .head(let head, let status): return ForwardedAnswer(head, nil, status)
            case .passed(let head, let status, let body):
                guard isFirst else {
                    if question.isNarrow { return try await pass(request, because: .miss) }
                    goesAlone = true
                    continue
                }
                if head.status.kind == .successful { unshared.withLock { $0.insert(key, now: .now) } }
                let reader = PassedBody.Reader(body, keeping: interest)
                return ForwardedAnswer(head, AnswerContent(.passed(reader), length: head.contentLength), status)
            case .file(let file):
                if isFirst, file.isStored { unshared.withLock { $0.remove(key) } }
                if isFirst || matches(file.response, question) {
                    return ForwardedAnswer(try loader.answer(question, from: file.sharing(!isFirst)))
                }
                variant = variantKey(of: file.response, question)
            case .growing(let response, var status, let version, let growth):
                if isFirst || matches(response, question) {
                    if !isFirst { status.collapsed = true }
                    let body = GrowingBody(
                        growth: growth, interest: interest, url: question.job.url, version: version)
                    if isFirst { lingerForSmall(response, interest) }
                    return try await answer(question, from: response, status, body)
                }
                variant = variantKey(of: response, question)
            }
        }
        return try await pass(request, because: .varyMiss)
    }

    /// The transfers under way.
    var running: [(url: String, progress: DownloadProgress)] {
        fills.withLock { $0.values.map { ($0.url, $0.flight.latest) } }
    }

    func cancelAll() {
        for fill in fills.withLock({ Array($0.values) }) { fill.flight.cancelAll() }
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
            return ForwardedAnswer(try loader.answer(question, from: try await body.interest.outcome().get()))
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
    private func lingerForSmall(_ response: StoredResponse, _ interest: Flight.Interest) {
        guard case .complete(let length?) = response.extent, length <= 4 << 20 else { return }
        Task.detached(priority: .background) { _ = await interest.outcome() }
    }

    // MARK: Asking the origin, for all

    private func join(_ question: Question, _ variant: String?) -> (Fill, Flight.Interest, isFirst: Bool) {
        var key = key(of: question)
        key.variant = variant
        while true {
            let (fill, isFirst) = fills.withLock { [key] fills in
                if let fill = fills[key] { return (fill, false) }
                let flight = Flight { [weak self] in self?.forget($0, key) }
                let fill = Fill(url: question.job.url, flight: flight, opening: Promise())
                fills[key] = fill
                return (fill, true)
            }
            guard let interest = fill.flight.join() else {
                forget(fill.flight.work, key)
                continue
            }
            if isFirst { start(fill, question.job, key) } else { fill.flight.raise(to: question.job.request.priority) }
            return (fill, interest, isFirst)
        }
    }

    private func key(of question: Question) -> FillKey {
        FillKey(
            key: question.job.key, epoch: loader.store.generation(of: question.job.url).epoch,
            terms: FetchTerms(question.job))
    }

    /// Begins a load that nobody joins, unless its answer turns out to be for all.
    private func begin(_ question: Question) -> (Fill, Flight.Interest, isFirst: Bool) {
        while true {
            let number = lastOwn.wrappingAdd(1, ordering: .relaxed).newValue
            let shared = key(of: question)
            var key = shared
            key.own = number
            let flight = Flight { [weak self, key] work in
                self?.forget(work, key)
                self?.forget(work, shared)
            }
            guard let interest = flight.join() else { continue }
            let fill = Fill(url: question.job.url, flight: flight, opening: Promise())
            fills.withLock { $0[key] = fill }
            start(fill, question.job, key)
            return (fill, interest, true)
        }
    }

    /// The answer goes into the store: whoever asks from now on joins it. Called before the load ends, which takes it out again.
    private func share(_ fill: Fill, _ key: FillKey) {
        unshared.withLock { $0.remove(key.key) }
        var shared = key
        shared.own = nil
        fills.withLock { [shared] fills in
            if fills[shared] == nil { fills[shared] = fill }
        }
    }

    private func start(_ fill: Fill, _ job: Job, _ key: FillKey) {
        let (loader, warnings) = (loader, warnings)
        // Another process is not waited for longer than it takes to begin oneself.
        let waiting: KeyWaiting = key.variant == nil && key.own == nil ? .atMost(.seconds(1)) : .none
        let forget: @Sendable (Flight.Work) -> Void = { [weak self] in self?.forget($0, key) }
        let share: @Sendable () -> Void = { [weak self] in self?.share(fill, key) }
        fill.flight.start(on: executor, priority: nil) { flight in
            let outcome: Flight.Outcome
            do throws(ImageCacheError) {
                let file = try await loader.load(job, flight: flight, waiting: waiting) {
                    (other, plan) async throws(ImageCacheError) in
                    try await loader.follow(other, job, plan: plan, flight: flight) { fill.opening.fulfill($0) }
                } fetch: { (plan, lock, generation) async throws(ImageCacheError) in
                    try await loader.forward(job, plan: plan, generation, flight: flight, warnings) { opening in
                        // What goes past the store is of no use to anybody who comes later, here or in another process.
                        if case .passed = opening {
                            lock?.release()
                            forget(flight.work)
                        } else if case .growing = opening, key.own != nil {
                            share()
                        }
                        fill.opening.fulfill(opening)
                    }
                }
                outcome = .success(file)
                fill.opening.fulfill(.file(file))
            } catch {
                let error = error.with(url: job.request.url)
                outcome = .failure(error)
                fill.opening.fulfill(.failed(error))
            }
            return outcome
        }
    }

    private func forget(_ work: Flight.Work, _ key: FillKey) {
        fills.withLock { fills in
            if fills[key]?.flight.work === work { fills[key] = nil }
        }
    }

    /// Asks the origin for something newer than what was just served stale.
    private func refresh(_ job: Job) {
        var job = job
        job.cacheRequest.policy = .reloadRevalidatingCacheData
        guard let question = try? Question(job.request).refreshing(job) else { return }
        let (_, interest, _) = join(question, nil)
        Task.detached(priority: .background) { _ = await interest.outcome() }
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
        let url = request.url
        let job = try Job(passing: request)
        let opening = Promise<Opening>()
        let (loader, warnings) = (loader, warnings)
        let status = CacheStatus(
            cache: "imgcache", forward: reason ?? (isSafe ? .bypass : .method))
        let flight = Flight { _ in }
        guard let interest = flight.join() else { throw .cancelled }
        flight.start(on: executor, priority: nil) { flight in
            do throws(ImageCacheError) {
                return .success(
                    try await loader.pass(job, status, flight: flight, warnings) { opening.fulfill($0) })
            } catch {
                let error = error.with(url: url)
                opening.fulfill(.failed(error))
                return .failure(error)
            }
        }
        guard let opened = await opening.value() else { throw .cancelled }
        switch opened {
        case .passed(let head, let status, let body):
            // Before the client has the head: its next request must not be answered with what this one made invalid.
            if !isSafe {
                await withTaskExecutorPreference(executor) {
                    _ = loader.invalidate(after: head, job, loader.store.generation(of: job.url))
                }
            }
            let reader = PassedBody.Reader(body, keeping: interest)
            return ForwardedAnswer(head, AnswerContent(.passed(reader), length: head.contentLength), status)
        case .growing(let response, let status, let version, let growth):
            var body = GrowingBody(growth: growth, interest: interest, url: job.url, version: version)
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

extension CachedFile {
    fileprivate func sharing(_ isShared: Bool) -> CachedFile {
        var file = self
        if isShared { file.cacheStatus.collapsed = true }
        return file
    }
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
