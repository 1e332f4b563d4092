import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport

/// A run of random requests, changes, failures and interruptions against one cache directory, whose every response is held
/// against the model.
struct History {
    let origin: HistoryOrigin
    let directory: String
    let isShared: Bool
    /// The paths of this history; other histories in the same directory have others.
    let paths: [String]
    private var model: HistoryModel
    private var random: SeededGenerator
    private var cache: DownloadCache
    /// Caches that were left open, as a killed process leaves its directory.
    private var abandoned: [DownloadCache] = []
    private(set) var log: [String] = []
    private(set) var tally = Tally()
    /// The number of the origin's responses, for each path and for all others, at the time of the request whose load
    /// may still be running: small bodies are loaded to their end without readers, and shared.
    private var loadBegan: [String: Int] = [:]
    /// Its number of responses when the last one for the path was read: these are stored, if they may be.
    private var stored: [String: Int] = [:]
    /// The paths whose last response was read in part, while the rest was on its way: until it is stored, a fresh one may be used.
    private var unfinished: Set<String> = []

    /// The number of each kind of event: a test that never hits the cache proves nothing.
    struct Tally {
        var requests = 0
        var hits = 0
        var revalidations = 0
        var resumptions = 0
        var errors = 0
    }

    struct Violation: Error, CustomStringConvertible {
        var description: String
    }

    init(_ number: Int, seed: UInt64, origin: HistoryOrigin, directory: String, isShared: Bool) throws {
        self.origin = origin
        self.directory = directory
        self.isShared = isShared
        model = HistoryModel(isShared: isShared)
        random = SeededGenerator(seed: seed)
        paths = (0..<2).map { "/\(number)/\($0)" }
        cache = try Self.open(directory, origin, isShared)
        origin.state.withLock { ($0.emissions, $0.failures) = ([], 0) }
        Emission.Identity.forgetBodies()
        for path in paths { change(path) }
    }

    private static func open(_ directory: String, _ origin: HistoryOrigin, _ isShared: Bool) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration()
        configuration.rules = CacheRules(mode: isShared ? .shared : .private)
        configuration.now = { origin.state.withLock { $0.now } }
        configuration.store.capacity = 4 << 20
        configuration.store.minimumFreeSpace = 0
        configuration.watchesMemoryPressure = false
        configuration.sweepsInBackground = false
        configuration.maxVariants = 3
        return try DownloadCache(directory: directory, configuration: configuration)
    }

    mutating func run(steps: Int) async throws {
        do {
            for _ in 0..<steps { try await step() }
            await close()
        } catch {
            await close()
            throw error
        }
    }

    private func close() async {
        for cache in abandoned + [cache] { await cache.close() }
    }

    // MARK: Steps

    private mutating func step() async throws {
        let path = paths[Int.random(in: 0..<paths.count, using: &random)]
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<58: try await ask(request(path))
        case 58..<68: change(path)
        case 68..<80: try await advance()
        case 80..<85: try await remove(path)
        case 85..<90: try await post(path)
        case 90..<96: fail()
        case 96..<97: try await evict()
        default: try await reopen()
        }
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }

    private mutating func change(_ path: String) {
        var resource = HistoryResource()
        resource.cacheControl = pick([
            "max-age=60", "max-age=60", "max-age=600", "public, max-age=60", "s-maxage=60", "no-store", "no-cache",
            "private, max-age=60", "max-age=60, must-revalidate", "max-age=10, stale-while-revalidate=100", nil, nil,
        ])
        resource.validator = pick(HistoryResource.Validator.allCases + [.strong, .strong])
        resource.vary = pick([nil, nil, nil, "Accept-Language", "Cookie"])
        resource.status = pick([200, 200, 200, 200, 200, 200, 200, 404])
        resource.size = pick([0, 1, 90, 90, 500, 500, 500, 5000, 5000, 300_000, 600_000])
        origin.state.withLock { state in
            resource.version = (state.resources[path]?.version ?? 0) + 1
            state.resources[path] = resource
        }
        note("\(path) is now \(resource)")
    }

    private mutating func advance() async throws {
        let seconds = Double(pick([0, 1, 5, 30, 61, 61, 120, 700, 100_000, -1, -50]))
        try await awaitBackgroundLoads()
        for path in unfinished { stored[path] = count }
        unfinished = []
        origin.state.withLock { $0.now += seconds }
        note("\(Int(seconds)) s later")
    }

    /// Returns when nothing is on its way. A response that was sent before the clock moved, and received after that, has another age for the
    /// cache than for the model.
    private func awaitBackgroundLoads() async throws {
        let caches = abandoned + [cache]
        while caches.contains(where: { !$0.running.isEmpty }) {
            guard (try? await Task.sleep(for: .milliseconds(1))) != nil else {
                throw Violation(
                    description: "never ends: \(caches.flatMap(\.running))\n" + log.joined(separator: "\n"))
            }
        }
    }

    private mutating func fail() {
        let failure = pick([
            HistoryOrigin.Failure.status(503), .status(500), .cut(after: 0), .cut(after: 40), .cut(after: 280_000),
            .cut(after: 550_000),
        ])
        let times = pick([1, 1, 2, 4])
        origin.state.withLock { ($0.failure, $0.failures) = (failure, times) }
        note("the next \(times) requests: \(failure)")
    }

    private mutating func remove(_ path: String) async throws {
        // A response that the origin sends during the removal may be stored after it.
        let count = count
        try await cache.remove(FileRequest(origin.url(path)))
        model.removed(path, scope: nil, after: count)
        note("removed \(path)")
    }

    private mutating func evict() async throws {
        _ = try await cache.prune(to: 0)
        note("evicted all")
    }

    private mutating func post(_ path: String) async throws {
        var request = FileRequest(origin.url(path))
        request.method = .post
        request.body = [1]
        let count = count
        let answer = try? await cache.forward(request)
        guard answer?.head.status == .noContent else { return note("POST \(path) failed") }
        model.removed(path, scope: nil, after: count)
        note("POST \(path)")
    }

    private mutating func reopen() async throws {
        if Bool.random(using: &random) { await cache.close() } else { abandoned.append(cache) }
        cache = try Self.open(directory, origin, isShared)
        note("opened anew")
    }

    // MARK: Requests

    private mutating func request(_ path: String) -> HistoryRequest {
        var request = HistoryRequest(path: path)
        request.language = pick([nil, "de", "en"])
        request.cookie = pick([nil, nil, nil, "a=1", "a=2"])
        request.authorization = pick([nil, nil, nil, nil, "Bearer 1", "Bearer 2"])
        request.isOdd = pick([false, false, false, false, false, false, false, true])
        request.cacheControl = pick([nil, nil, nil, nil, nil, "no-cache", "max-age=0", "only-if-cached"])
        if pick([false, false, false, false, true]) {
            request.policy = pick([
                .returnCacheDataElseLoad, .returnCacheDataDontLoad, .reloadIgnoringLocalCacheData,
                .reloadRevalidatingCacheData,
            ])
        }
        if pick([false, false, false, false, false, true]) {
            let start = pick([0, 10, 270_000])
            request.range = start..<start + pick([1, 50, 1000])
        }
        return request
    }

    private mutating func ask(_ request: HistoryRequest) async throws {
        let start = origin.state.withLock { ($0.emissions.count, $0.failed) }
        tally.requests += 1
        let isFile = request.range == nil && Int.random(in: 0..<3, using: &random) == 0
        let response: (status: Int, body: [UInt8], how: String)
        do {
            response = try await isFile ? file(request) : exchange(request)
        } catch {
            tally.errors += 1
            return note("\(request): \(error)")
        }
        let isUnfinished = (request.range != nil || unfinished.contains(request.path)) && !cache.running.isEmpty
        note("\(request): \(response.status), \(response.body.count) bytes, \(response.how)")
        let (emissions, failed, now) = origin.state.withLock { ($0.emissions, $0.failed, $0.now) }
        if emissions.count == start.0 { tally.hits += 1 }
        tally.revalidations += emissions[start.0...].count { $0.kind == .confirmation }
        tally.resumptions += emissions[start.0...].count { $0.kind == .part }
        let isCollapsed = response.how.contains("collapsed")
        let joined = isCollapsed ? loadBegan[request.path] ?? 0 : start.0
        // A request that the origin was not asked for begins no load.
        if response.how.contains("fwd=") { loadBegan[request.path] = joined }
        // Responses without a body of the resource: not in the cache, a range beyond the end, the client's own
        // condition.
        if [504, 416, 304].contains(response.status) { return }
        let objection = model.objection(
            to: response.body, status: response.status, for: request, emissions, since: start.0, joined: joined,
            stored: stored[request.path] ?? 0, hasFailed: failed > start.1, now: now)
        if response.how.contains("fwd="), !isCollapsed {
            if isUnfinished {
                unfinished.insert(request.path)
            } else {
                stored[request.path] = emissions.count
            }
        }
        guard let objection else { return }
        let lines = String(decoding: response.body, as: UTF8.self).split(separator: "\n").map(String.init)
        let runs = lines.indices.filter { $0 == 0 || lines[$0] != lines[$0 - 1] }.prefix(8).map {
            "\($0): \(lines[$0])"
        }
        throw Violation(
            description: "\(request) was answered with \(objection)\nbody: \(runs)\nsent: \(emissions[start.0...])\n"
                + log.joined(separator: "\n"))
    }

    private func file(_ request: HistoryRequest) async throws -> (Int, [UInt8], String) {
        let file = try await cache.file(for: request.fileRequest(origin.url(request.path)))
        return (200, try Array(Data(contentsOf: URL(filePath: file.path))), "\(file.source), \(file.cacheStatus)")
    }

    private func exchange(_ request: HistoryRequest) async throws -> (Int, [UInt8], String) {
        let fileRequest = request.fileRequest(origin.url(request.path))
        if let ready = cache.hotResponse(for: fileRequest) {
            return (ready.head.status.code, try ready.bytes(), "memory")
        }
        let answer = try await cache.forward(fileRequest)
        return (answer.head.status.code, try await answer.bytes(), answer.head.headerFields[.cacheStatus] ?? "")
    }

    private var count: Int { origin.state.withLock { $0.emissions.count } }

    private mutating func note(_ line: String) { log.append(line) }
}
