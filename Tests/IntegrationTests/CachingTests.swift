import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// RFC 9111 and the application's own rules through the whole library, with a clock that the test turns.
@Suite(.fewAtATime) struct CachingTests {
    private let directory: TestDirectory
    private let clock = Locked(Date())
    private let cache: DownloadCache
    private let answers = Locked<[Behaviour]>([])

    init() throws {
        directory = try TestDirectory()
        var configuration = DownloadCache.Configuration()
        configuration.now = { [clock] in clock.withLock { $0 } }
        cache = try DownloadCache(directory: directory.path("cache"), configuration: configuration)
    }

    /// An origin that gives these answers in turn, and the last one from then on.
    private func origin(_ behaviours: Behaviour...) throws -> ScriptedOrigin {
        try ScriptedOrigin { [clock] request in
            behaviours[min(request.number, behaviours.count) - 1].with { $0.date = clock.withLock { $0 } }
        }
    }

    private func version(
        _ seed: UInt64, cacheControl: String? = "max-age=60", _ fields: (name: String, value: String)...
    ) -> Behaviour {
        var representation = Representation(seed: seed, size: 1000, cacheControl: cacheControl)
        representation.fields = fields
        return Behaviour(representation)
    }

    private func pass(_ seconds: Double) { clock.withLock { $0 += seconds } }

    private func request(_ origin: ScriptedOrigin, _ change: (inout FileRequest) -> Void = { _ in }) -> FileRequest {
        var request = FileRequest(origin.url("/a"))
        request.transfer.retry.maxRetries = 0
        change(&request)
        return request
    }

    private func expect(
        _ file: CachedFile, _ source: CachedFile.Source, seed: UInt64, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(file.source == source, sourceLocation: sourceLocation)
        #expect(Content(seed: seed, size: 1000).equalsFile(at: file.path), sourceLocation: sourceLocation)
    }

    // MARK: Freshness and validation

    @Test func `a fresh file costs no request`() async throws {
        let origin = try origin(version(1))
        expect(try await cache.file(for: request(origin)), .network, seed: 1)
        pass(59)
        expect(try await cache.file(for: request(origin)), .disk, seed: 1)
        #expect(origin.requests.count == 1)
    }

    @Test func `a stale file is confirmed by 304 without its body, and is fresh again`() async throws {
        let origin = try origin(version(1))
        let first = try await cache.file(for: request(origin))
        pass(61)
        let second = try await cache.file(for: request(origin))
        expect(second, .revalidated, seed: 1)
        #expect(second.path == first.path)
        #expect(second.bytesTransferred == 0)
        #expect(origin.requests.last?["If-None-Match"] == "\"v1\"")
        #expect(origin.requests.last?.status == 304)
        pass(30)
        expect(try await cache.file(for: request(origin)), .disk, seed: 1)
        #expect(origin.requests.count == 2)
    }

    @Test func `a stale file that changed is replaced`() async throws {
        let origin = try origin(version(1), version(2))
        _ = try await cache.file(for: request(origin))
        pass(61)
        expect(try await cache.file(for: request(origin)), .network, seed: 2)
        #expect(try await cache.info(for: request(origin)).entries.count == 1)
    }

    @Test func `a no-store response is delivered and removed with its last reader`() async throws {
        let origin = try origin(version(1, cacheControl: "no-store"))
        var file: CachedFile? = try await cache.file(for: request(origin))
        let path = try #require(file?.path)
        #expect(file?.isStored == false)
        #expect(Content(seed: 1, size: 1000).equalsFile(at: path))
        #expect(try await cache.entries().isEmpty)
        file = nil
        // The task that loaded it may be a reader for a moment longer.
        #expect(await eventually { !FileManager.default.fileExists(atPath: path) })
        await #expect(throws: ImageCacheError.self) {
            try await cache.file(for: request(origin) { $0.noStoreBehavior = .fail })
        }
    }

    @Test func `an interim response does not affect the cache`() async throws {
        let origin = try ScriptedOrigin(script: { _ in
            [
                .raw("HTTP/1.1 103 Early Hints\r\nCache-Control: no-store\r\n\r\n"),
                .head(status: 200, fields: [("Cache-Control", "max-age=60"), ("Content-Length", "10")]),
                .content(Content(seed: 1, size: 10), 0..<10),
            ]
        })
        #expect(try await cache.file(for: request(origin)).response.status == .ok)
        #expect(try await cache.file(for: request(origin)).source == .disk)
    }

    @Test func `a response behind a redirect without freshness is revalidated before each use`() async throws {
        let origin = try ScriptedOrigin { [self] request in
            request.path == "/a" ? .redirect(to: "/b") : version(1, cacheControl: "max-age=1000")
        }
        _ = try await cache.file(for: request(origin))
        expect(try await cache.file(for: request(origin)), .revalidated, seed: 1)
        #expect(origin.requests.map(\.request.path) == ["/a", "/b", "/a", "/b"])
    }

    @Test func `a full response to a revalidation replaces the stored one, even without its Vary`()
        async throws
    {
        let origin = try origin(version(1, cacheControl: "max-age=60", ("Vary", "Accept")), version(2))
        _ = try await cache.file(for: request(origin))
        pass(61)
        expect(try await cache.file(for: request(origin)), .network, seed: 2)
        #expect(try await cache.info(for: request(origin)).entries.count == 1)
        expect(try await cache.file(for: request(origin)), .disk, seed: 2)
    }

    // MARK: Stale answers

    @Test func `an origin that cannot be reached leaves the stale file, unless must-revalidate forbids it`()
        async throws
    {
        for (cacheControl, mayBeStale) in [("max-age=60", true), ("max-age=60, must-revalidate", false)] {
            let origin = try origin(version(1, cacheControl: cacheControl))
            _ = try await cache.file(for: request(origin))
            pass(61)
            let request = request(origin)
            origin.stop()
            if mayBeStale {
                expect(try await cache.file(for: request), .stale, seed: 1)
            } else {
                let error = await #expect(throws: ImageCacheError.self) { try await cache.file(for: request) }
                #expect(error?.code == .unreachable)
            }
        }
    }

    @Test func `stale-if-error covers a 503 for as long as it says`() async throws {
        let origin = try origin(version(1, cacheControl: "max-age=60, stale-if-error=100"), .status(503))
        _ = try await cache.file(for: request(origin))
        pass(150)
        expect(try await cache.file(for: request(origin)), .stale, seed: 1)
        pass(20)
        let error = await #expect(throws: ImageCacheError.self) { try await cache.file(for: request(origin)) }
        #expect(error?.code == .status(503))
    }

    @Test func `stale-while-revalidate answers at once and refreshes in the background`() async throws {
        let origin = try origin(version(1, cacheControl: "max-age=60, stale-while-revalidate=100"), version(2))
        _ = try await cache.file(for: request(origin))
        pass(61)
        expect(try await cache.file(for: request(origin)), .stale, seed: 1)
        #expect(await origin.waits { $0.count == 2 })
        while try await cache.entries().first?.record?.response.fields[.eTag] != "\"v2\"" {
            try await Task.sleep(for: .milliseconds(5))
        }
        expect(try await cache.file(for: request(origin)), .disk, seed: 2)
    }

    // MARK: Policies

    @Test func `each policy weighs the store and the origin as its name says`() async throws {
        let origin = try origin(version(1))
        func source(_ policy: CachePolicy) async throws -> CachedFile.Source {
            try await cache.file(for: request(origin) { $0.policy = policy }).source
        }
        let missing = await #expect(throws: ImageCacheError.self) { try await source(.returnCacheDataDontLoad) }
        #expect(missing?.code == .notCached)
        #expect(origin.requests.isEmpty)
        #expect(try await source(.returnCacheDataElseLoad) == .network)
        #expect(try await source(.useProtocolCachePolicy) == .disk)
        #expect(try await source(.reloadRevalidatingCacheData) == .revalidated)
        #expect(try await source(.reloadIgnoringLocalCacheData) == .network)
        #expect(origin.requests.last?["Cache-Control"] == nil)
        #expect(try await source(.reloadIgnoringLocalAndRemoteCacheData) == .network)
        #expect(origin.requests.last?["Cache-Control"] == "no-cache")
        pass(90)
        let before = origin.requests.count
        #expect(try await source(.maxStale(seconds: 60)) == .stale)
        #expect(try await source(.returnCacheDataElseLoad) == .stale)
        #expect(try await source(.returnCacheDataDontLoad) == .stale)
        #expect(origin.requests.count == before)
        #expect(try await source(.maxStale(seconds: 10)) == .revalidated)
    }

    @Test func `a freshness override beats the server's lifetime for its version, until the clock is set back`()
        async throws
    {
        let origin = try origin(version(1, cacheControl: "no-cache"))
        func source(_ own: FreshnessOverride) async throws -> CachedFile.Source {
            try await cache.file(for: request(origin) { $0.freshnessOverride = own }).source
        }
        #expect(try await source(FreshnessOverride(seconds: 1000, version: "1")) == .network)
        pass(900)
        #expect(try await source(FreshnessOverride(seconds: 1000, version: "1")) == .disk)
        #expect(try await source(FreshnessOverride(seconds: 1000, version: "2")) == .network)
        pass(-500)
        #expect(try await source(FreshnessOverride(seconds: 1000, version: "2")) == .network)
    }

    @Test func `a freshness override stores a no-store response only if the caller says so`() async throws {
        let origin = try origin(version(1, cacheControl: "no-store"))
        func file(_ own: FreshnessOverride) async throws -> CachedFile {
            try await cache.file(for: request(origin) { $0.freshnessOverride = own })
        }
        #expect(try await file(FreshnessOverride(seconds: 100)).isStored == false)
        #expect(try await file(FreshnessOverride(seconds: 100, storesDespiteNoStore: true)).isStored)
        #expect(try await file(FreshnessOverride(seconds: 100, storesDespiteNoStore: true)).source == .disk)
    }

    // MARK: Owners and credentials

    @Test func `one owner's entries are neither seen nor cleared by another`() async throws {
        let origin = try origin(version(1))
        func file(_ owner: String?) async throws -> CachedFile {
            try await cache.file(for: request(origin) { $0.owner = owner })
        }
        for owner in ["ann", "bob", nil] {
            #expect(try await file(owner).source == .network)
            #expect(try await file(owner).source == .disk)
        }
        try await cache.remove(.owner("ann"))
        #expect(try await file("bob").source == .disk)
        #expect(try await file(nil).source == .disk)
        #expect(try await file("ann").source == .network)
    }

    @Test func `a response to credentials is used only for the same credentials`() async throws {
        let origin = try origin(version(1))
        func source(_ authorization: String?, user: String? = nil) async throws -> CachedFile.Source {
            try await cache.file(
                for: request(origin) { request in
                    request.fields[.authorization] = authorization
                    request.transfer.credentials = user.map { .init(user: $0, password: "p") }
                }
            ).source
        }
        #expect(try await source("Bearer one") == .network)
        #expect(try await source("Bearer one") == .disk)
        #expect(try await source("Bearer two") == .network)
        #expect(try await source(nil, user: "ann") == .network)
        #expect(try await source(nil, user: "bob") == .network)
        #expect(try await source(nil) == .network)
    }

    // MARK: Duplicates, cached then fresh, POST

    @Test func `a replacing request cancels the equal one before it`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [self] request in
            request.number == 1 ? version(1).with { $0.gate = gate } : version(2)
        }
        let older = cache.download(request(origin))
        #expect(await origin.waits { $0.count == 1 })
        #expect(cache.running.map(\.url) == [origin.url("/a")])
        expect(try await cache.file(for: request(origin) { $0.duplicates = .replace }), .network, seed: 2)
        let error = await #expect(throws: ImageCacheError.self) { try await older.file }
        #expect(error?.code == .cancelled)
        gate.open()
    }

    @Test func `cancelling a URL ends its load for everybody`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [self] _ in version(1).with { $0.gate = gate } }
        let downloads = (0..<3).map { _ in cache.download(request(origin)) }
        #expect(await origin.waits { $0.count == 1 })
        cache.cancel(origin.url("/a"))
        for download in downloads {
            let error = await #expect(throws: ImageCacheError.self) { try await download.file }
            #expect(error?.code == .cancelled)
        }
        gate.open()
    }

    @Test func `the stored file comes at once, and then the fresh one if it differs`() async throws {
        let origin = try origin(version(1), version(1), version(2))
        func seeds() async throws -> [CachedFile.Source] {
            var sources: [CachedFile.Source] = []
            for try await file in cache.cachedThenFresh(for: request(origin)) { sources.append(file.source) }
            return sources
        }
        #expect(try await seeds() == [.network])
        pass(61)
        #expect(try await seeds() == [.stale])
        pass(61)
        #expect(try await seeds() == [.stale, .network])
    }

    @Test func `a POST is cached by its body if the server gives it freshness`() async throws {
        let origin = try origin(version(1))
        func source(_ body: String) async throws -> CachedFile.Source {
            try await cache.file(
                for: request(origin) { request in
                    request.method = .post
                    request.body = Array(body.utf8)
                    request.isSafeQuery = true
                }
            ).source
        }
        #expect(try await source("a") == .network)
        #expect(try await source("a") == .disk)
        #expect(try await source("b") == .network)
        #expect(origin.requests.last?.request.body == Array("b".utf8))
    }

    @Test func `an unsafe POST invalidates the stored response of its URL`() async throws {
        let origin = try origin(version(1), version(7, cacheControl: nil), version(2))
        _ = try await cache.file(for: request(origin))
        _ = try await cache.file(for: request(origin) { $0.method = .post })
        expect(try await cache.file(for: request(origin)), .network, seed: 2)
    }

    @Test func `the cache's own fields are refused in a request`() async throws {
        for name in [HTTPField.Name.range, .ifNoneMatch, .ifModifiedSince, .ifRange] {
            var request = FileRequest("http://127.0.0.1:1/")
            request.fields[name] = "x"
            let error = await #expect(throws: ImageCacheError.self) { try await cache.file(for: request) }
            #expect(error?.code == .invalidRequest)
        }
    }
}
