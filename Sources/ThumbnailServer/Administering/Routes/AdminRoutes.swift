import FoundationEssentials
import HTTPTypes
import Hummingbird
import ImageCache
import Logging
import NIOCore
import NIOPosix

/// What the admin listener answers: health, metrics, purging, and the page with what it shows.
struct AdminRoutes: Sendable {
    let cache: ImageCache
    let rules: CacheRules
    let history: TrafficHistory
    let registry: MetricsRegistry
    let readiness: Readiness
    let admission: AdminGuard
    /// The origin's URL without a slash at its end and without credentials.
    let origin: String
    let logger: Logger
    let started = Date()

    /// The largest content of a request.
    static let largestBody = 64 << 10

    func responder() -> some HTTPResponder<BasicRequestContext> {
        let router = Hummingbird.Router(context: BasicRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: AdminMiddleware(routes: self))
        addHealth(to: router)
        addFigures(to: router)
        addEntries(to: router)
        for file in PageFile.all {
            router.get(RouterPath(file.name)) { request, _ in file.response(to: request) }
        }
        router.get("/") { request, _ in PageFile.index.response(to: request) }
        return router.buildResponder()
    }

    private func addHealth(to router: Hummingbird.Router<BasicRequestContext>) {
        router.get("healthz") { _, _ in AdminResponse.json(["status": "ok"]) }
        router.get("readyz") { _, _ in
            switch await state() {
            case .ready: AdminResponse.json(["status": "ready"])
            case let state: AdminResponse.json(["status": state.rawValue], status: .serviceUnavailable)
            }
        }
        router.get("metrics") { _, _ in
            let figures = try await waiting { () throws(ImageCacheError) in try CacheMetrics(cache) }
            var text = PrometheusText()
            text.add(registry)
            figures.write(to: &text)
            ProcessMetrics.write(to: &text, started: started)
            return AdminResponse.bytes(ByteBuffer(string: text.text), type: PrometheusText.mediaType)
        }
    }

    private func addFigures(to router: Hummingbird.Router<BasicRequestContext>) {
        router.get("api/summary") { _, _ in AdminResponse.json(try await summary()) }
        router.get("api/series") { request, _ in
            let query = request.uri.queryParameters
            guard let step = TrafficHistory.Step(rawValue: query["step"].flatMap { Int($0) } ?? 1) else {
                throw AdminError(.badRequest, "step", "step is 1 or 60.")
            }
            return AdminResponse.json(
                SeriesAnswer(history, step, since: query["since"].flatMap { Int($0) }, now: Date()))
        }
        router.get("api/transfers") { _, _ in AdminResponse.json(TransfersAnswer(cache.running)) }
    }

    private func addEntries(to router: Hummingbird.Router<BasicRequestContext>) {
        router.get("api/entries") { request, _ in
            let query = request.uri.queryParameters
            let limit = query["limit"].flatMap { Int($0) } ?? 50
            guard (1...500).contains(limit) else { throw AdminError(.badRequest, "limit", "limit is 1 to 500.") }
            let after = try query["after"].map { try entryID(String($0)) }
            let page = try await cache.entries(
                matching: query["search"].map { String($0) } ?? "", after: after, limit: limit)
            return AdminResponse.json(EntriesAnswer(page, now: Date(), rules: rules))
        }
        router.get("api/entries/:id/thumbnail") { _, context in
            let preview = try await cache.preview(ofEntry: entryID(context.parameters.get("id") ?? ""), .fit(352, 264))
            // No 404, which browsers complain about: there is such an entry, and no picture of it.
            guard let preview else { return AdminResponse(status: .noContent, headers: [.cacheControl: "no-store"]) }
            var response = AdminResponse.bytes(ByteBuffer(bytes: preview.bytes), type: preview.format.mediaType)
            // An entry never changes, and its number never comes again.
            response.headers[.cacheControl] = "private, max-age=604800, immutable"
            return response
        }
        router.delete("api/entries/:id") { request, context in
            try authorize(request)
            let id = try entryID(context.parameters.get("id") ?? "")
            let size = try await cache.entry(id)?.allocatedSize ?? 0
            let isGone = try await cache.remove(entry: id)
            return AdminResponse.json(PurgeAnswer(purged: isGone ? 1 : 0, bytes: isGone ? size : 0))
        }
        router.post("purge") { request, _ in
            try authorize(request)
            guard request.headers[.contentType]?.prefix(while: { $0 != ";" }).lowercased() == "application/json" else {
                throw AdminError(.unsupportedMediaType, "content-type", "The content must be application/json.")
            }
            let result = try await cache.purge(purgeTarget(of: request))
            return AdminResponse.json(PurgeAnswer(purged: result.entries, bytes: result.bytes))
        }
    }

    // MARK: Answers

    /// What the server's parts say, and the store.
    func state() async -> Readiness.State {
        guard readiness.state == .ready else { return readiness.state }
        do {
            try await cache.checkWritable()
            return .ready
        } catch {
            return .unwritable
        }
    }

    private func summary() async throws -> SummaryAnswer {
        let store = try await waiting { () throws(ImageCacheError) in try cache.statistics() }
        let active = registry.all.reduce(0) { sum, metric in
            guard case .gauge(let gauge) = metric.value, MetricHelp.active.contains(metric.key.label) else {
                return sum
            }
            return sum + Int(gauge.value)
        }
        return SummaryAnswer(
            now: Date().timeIntervalSince1970, started: started.timeIntervalSince1970, version: ServerCommand.version,
            origin: origin, state: await state(), canPurge: admission.hasToken, active: active,
            totals: SummaryAnswer.Totals(history.totals), recent: SummaryAnswer.Recent(history.recent),
            store: SummaryAnswer.Store(store),
            memory: SummaryAnswer.Memory([cache.answerStatistics] + [cache.imageStatistics.memory].compactMap(\.self)),
            evictions: SummaryAnswer.Evictions(cache.evictions))
    }

    /// `PURGE /path`, as with other caches: one URL of the origin, or one that is given whole.
    func purge(_ request: AdminRequest) async throws -> AdminResponse {
        try authorize(request)
        let path = request.head.path ?? "/"
        let url = path.hasPrefix("/") ? origin + path : path
        let result = try await cache.purge(.url(url))
        return AdminResponse.json(
            PurgeAnswer(purged: result.entries, bytes: result.bytes), status: result.entries > 0 ? .ok : .notFound)
    }

    private func authorize(_ request: AdminRequest) throws {
        switch admission.refusal(authorization: request.headers[.authorization]) {
        case nil: break
        case .missing: throw AdminError(.unauthorized, "token", "A token is needed: Authorization: Bearer.")
        case .wrong: throw AdminError(.forbidden, "token", "The token is not the right one.")
        case .notConfigured:
            throw AdminError(.forbidden, "no-token", "The server was started without a token for purging.")
        }
    }

    private func entryID(_ text: String) throws -> Int64 {
        guard let id = EntryID.number(text) else {
            throw AdminError(.badRequest, "entry", "That is no entry's number.")
        }
        return id
    }

    private func purgeTarget(of request: AdminRequest) async throws -> PurgeTarget {
        let content: ByteBuffer
        do {
            content = try await request.body.collect(upTo: Self.largestBody)
        } catch is NIOTooManyBytesError {
            throw AdminError(.contentTooLarge, "too-large", "The content is larger than \(Self.largestBody) bytes.")
        }
        do {
            return try PurgeOrder.target(of: Array(content.readableBytesView))
        } catch {
            throw AdminError(.badRequest, "purge", error.description)
        }
    }

    /// Runs what waits for the disk on a thread that may.
    private func waiting<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await NIOThreadPool.singleton.runIfActive(work)
    }
}

extension PurgeOrder.Mistake: CustomStringConvertible {
    var description: String {
        switch self {
        case .notJSON: "The content is no JSON object with url, prefix, host or all."
        case .notOne: "Exactly one of url, prefix, host and all must be there, and all must be true."
        case .notURL(let text): "\"\(text)\" is neither an http or https URL nor, for host, a host without a port."
        }
    }
}
