import Fleet
import FoundationEssentials
import HTTPServer
import HTTPTypes
import ImageCache
import ImageProxy
import Logging

/// The routes of the admin listener: health, metrics, purging, and the page with its data.
struct AdminRoutes: Sendable {
    let cache: DownloadCache
    let rules: CacheRules
    let history: TrafficHistory
    let registry: MetricsRegistry
    let ranking: RequestRanking
    let readiness: Readiness
    let admission: AdminGuard
    /// The current origins.
    let origins: @Sendable () -> OriginSet
    /// The settings in force as JSON, without secrets.
    let settings: @Sendable () -> String
    let renders: RenderCounts
    /// The program's version, for the page.
    let version: String
    let logger: Logger
    let started = Date()

    /// The greatest size of a request's content.
    static let largestBody = 64 << 10

    func table() -> RouteTable {
        var table = RouteTable()
        addHealth(to: &table)
        addFigures(to: &table)
        addEntries(to: &table)
        for file in PageFile.all { table.get(file.name) { file.response(to: $0) } }
        table.get("/") { PageFile.index.response(to: $0) }
        return table
    }

    private func addHealth(to table: inout RouteTable) {
        table.get("healthz") { _ in .json(["status": "ok"]) }
        table.get("readyz") { _ in
            switch await state() {
            case .ready: .json(["status": "ready"])
            case let state: .json(["status": state.rawValue], status: .serviceUnavailable)
            }
        }
        table.get("metrics") { request in
            let figures = try await CacheMetrics(cache)
            var text = PrometheusText(only: request.query("name"))
            text.add(registry)
            figures.write(to: &text)
            OriginMetrics(gates: origins().gates).write(to: &text)
            RenderMetrics(counts: renders.all).write(to: &text)
            text.add(
                "imgcache_build_info", .gauge, by: "version", [(version, 1)], help: "The program's version.")
            ProcessMetrics.write(to: &text, started: started)
            return .bytes(Array(text.text.utf8), type: PrometheusText.mediaType)
        }
    }

    private func addFigures(to table: inout RouteTable) {
        table.get("api/summary") { _ in .json(try await summary()) }
        table.get("api/series") { request in
            guard let step = TrafficHistory.Step(rawValue: request.query("step").flatMap { Int($0) } ?? 1) else {
                throw AdminError(.badRequest, "step", "step is 1 or 60.")
            }
            return .json(SeriesResponse(history, step, since: request.query("since").flatMap { Int($0) }, now: Date()))
        }
        table.get("api/requests") { request in
            let limit = request.query("limit").flatMap { Int($0) } ?? 10
            guard (1...RequestRanking.mostSlowest).contains(limit) else {
                throw AdminError(.badRequest, "limit", "limit is 1 to \(RequestRanking.mostSlowest).")
            }
            return .json(RankingResponse(ranking, limit: limit))
        }
        table.get("api/settings") { _ in .bytes(Array(settings().utf8), type: "application/json") }
        table.get("api/transfers") { _ in .json(TransfersResponse(cache.running)) }
    }

    private func addEntries(to table: inout RouteTable) {
        table.get("api/entries") { request in
            let limit = request.query("limit").flatMap { Int($0) } ?? 50
            guard (1...500).contains(limit) else { throw AdminError(.badRequest, "limit", "limit is 1 to 500.") }
            let after = try request.query("after").map { try entryID($0) }
            let selection = try EntrySelection(request)
            return .json(try await selection.page(of: cache, after: after, limit: limit, now: Date(), rules: rules))
        }
        table.get("api/entries/:id/thumbnail") { request in
            let preview = try await cache.preview(ofEntry: entryID(request.parameters["id"] ?? ""), .fit(352, 264))
            // Not a 404, which browsers report as an error: the entry exists without a preview.
            guard let preview else {
                return Response(HTTPResponse(status: .noContent, headerFields: [.cacheControl: "no-store"]))
            }
            var response = Response.bytes(preview.bytes, type: preview.format.mediaType)
            // An entry never changes, and its number is never reused.
            response.head.headerFields[.cacheControl] = "private, max-age=604800, immutable"
            return response
        }
        table.delete("api/entries/:id") { request in
            try authorize(request)
            let id = try entryID(request.parameters["id"] ?? "")
            return .json(PurgeResponse(try await cache.remove(.entry(id))))
        }
        table.post("purge") { request in
            try authorize(request)
            guard request.fields[.contentType]?.prefix(while: { $0 != ";" }).lowercased() == "application/json" else {
                throw AdminError(.unsupportedMediaType, "content-type", "The content must be application/json.")
            }
            return .json(PurgeResponse(try await purge(purgeScope(of: request))))
        }
    }

    // MARK: Answers

    /// The readiness of the server's parts, of the store, and of the workers for images.
    func state() async -> Readiness.State { await readiness.state(with: cache) }

    private func summary() async throws -> SummaryResponse {
        let store = try await cache.statistics()
        let origins = origins().gates.map { (gate: $0, health: $0.health.snapshot) }
        let (images, remote, state) = (cache.imageStatistics, cache.remoteStatistics, await state())
        var facts = Problem.Facts()
        facts.state = state
        (facts.usedBytes, facts.capacity, facts.freeSpace) = (store.usedBytes, store.capacity, store.freeSpace)
        (facts.hasRemote, facts.hasWorkers) = (remote?.isAvailable, images.hasWorkers)
        facts.origins = origins.map { ($0.gate.name, $0.health) }
        let active = registry.all.reduce(0) { sum, metric in
            guard case .gauge(let gauge) = metric.value, MetricHelp.active.contains(metric.key.label) else {
                return sum
            }
            return sum + Int(gauge.value)
        }
        return SummaryResponse(
            now: Date().timeIntervalSince1970, started: started.timeIntervalSince1970, version: version,
            origins: origins.map(SummaryResponse.Origin.init), state: state, problems: Problem.all(facts),
            canPurge: admission.hasToken, active: active,
            totals: SummaryResponse.Totals(history.totals), recent: SummaryResponse.Recent(history.recent),
            store: SummaryResponse.Store(store),
            memory: SummaryResponse.Memory(
                [cache.hotResponseStatistics] + [images.memory].compactMap(\.self)),
            images: SummaryResponse.Images(images, renders),
            evictions: SummaryResponse.Evictions(await cache.evictions),
            remote: remote.map(SummaryResponse.Remote.init))
    }

    /// `PURGE /path`, as in other caches: one URL of the origin that serves the host and the path, or an absolute URL. The target of an image
    /// or control file selects its original and all that is made from it.
    func purge(_ request: AdminRequest) async throws -> Response {
        try authorize(request)
        let head = request.incoming.head
        let absolute = head.scheme.map { "\($0)://\(head.authority ?? "")\(head.targetText)" }
        guard let url = absolute ?? origins().url(authority: head.authority, target: head.targetText) else {
            throw AdminError(.notFound, "no-origin", "No origin is configured for this host and path.")
        }
        let result = try await purge(urls: absolute.map(origins().storedURLs) ?? [url])
        return .json(PurgeResponse(result), status: result.entries > 0 ? .ok : .notFound)
    }

    private func purge(_ scope: PurgeCommand.Scope) async throws -> RemovalResult {
        switch scope {
        case .target(.url(let url)): return try await purge(urls: origins().storedURLs(of: url))
        case .target(let target): return try await cache.remove(target)
        case .origin(let name):
            guard let gate = origins().gates.first(where: { $0.name == name }) else {
                throw AdminError(.badRequest, "purge", "There is no origin \"\(name)\".")
            }
            return try await cache.remove(.prefix(gate.storedURL + "/"))
        }
    }

    private func purge(urls: [String]) async throws -> RemovalResult {
        var result = RemovalResult()
        for url in urls { result += try await cache.remove(.url(url)) }
        return result
    }

    private func authorize(_ request: AdminRequest) throws {
        switch admission.authorizationError(authorization: request.fields[.authorization]) {
        case nil: break
        case .missing: throw AdminError(.unauthorized, "token", "A token is required: Authorization: Bearer.")
        case .wrong: throw AdminError(.forbidden, "token", "The token is wrong.")
        case .notConfigured:
            throw AdminError(.forbidden, "no-token", "The server was started without a token for purging.")
        }
    }

    private func entryID(_ text: some StringProtocol) throws -> Int64 {
        guard let id = EntryID.number(String(text)) else {
            throw AdminError(.badRequest, "entry", "The entry number is invalid.")
        }
        return id
    }

    private func purgeScope(of request: AdminRequest) throws -> PurgeCommand.Scope {
        do {
            return try PurgeCommand.scope(of: request.incoming.content)
        } catch {
            throw AdminError(.badRequest, "purge", error.description)
        }
    }
}

extension PurgeCommand.ParsingError: CustomStringConvertible {
    var description: String {
        switch self {
        case .notJSON: "The content must be a JSON object with url, prefix, host, origin or all."
        case .notOne: "Exactly one of url, prefix, host, origin and all must be specified, and all must be true."
        case .notURL(let text): "\"\(text)\" is neither an http or https URL nor, for host, a host without a port."
        }
    }
}
