import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// A purge, `rm`, unsafe method or refresh beats every fill, decode and copy in memory that began before it, in every process on
/// the directory.
@Suite(.fewAtATime(limit: .seconds(180))) struct InvalidationTests: ForwardingSuite {
    let proxy: ProxyCache
    /// Another one on the same directory, as another process has it.
    private let other: DownloadCache
    private let version = Locked(1)
    private let command: CommandRunner

    init() throws {
        proxy = try ProxyCache()
        other = try ProxyCache(in: proxy.directory, clock: proxy.clock).cache
        command = CommandRunner(cacheDirectory: proxy.directory.path("cache"))
    }

    /// A body that contains its version, or an image whose colour does; every POST creates a new one.
    ///
    /// - Parameter gate: holds back each answer to the first GET, after it was made.
    private func origin(cacheControl: String = "max-age=3600", gate: Gate? = nil, size: Int? = nil) throws
        -> ScriptedOrigin
    {
        try ScriptedOrigin { [version, clock] request in
            if request.method == "POST" {
                version.withLock { $0 += 1 }
                return [.head(status: 200, fields: [("Content-Length", "0")])]
            }
            let number = version.withLock { $0 }
            let body = request.path.hasSuffix(".png") ? Self.picture(number) : Self.text(number, size: size ?? 0)
            let fields = [
                ("Date", httpDate(clock.withLock { $0 })), ("ETag", "\"v\(number)\""), ("Cache-Control", cacheControl),
            ]
            let wait: [OriginStep] = request.number == 1 ? gate.map { [.wait(for: $0)] } ?? [] : []
            if request["If-None-Match"] == "\"v\(number)\"" { return wait + [.head(status: 304, fields: fields)] }
            let length = [("Content-Length", "\(body.count)")]
            let sent = min(body.count, 300_000)
            return [.head(status: 200, fields: fields + length), .body(Array(body[..<sent]))] + wait
                + [.body(Array(body[sent...]))]
        }
    }

    private static func text(_ version: Int, size: Int) -> [UInt8] {
        let text = Array("version \(version)\n".utf8)
        return text + [UInt8](repeating: UInt8(ascii: "."), count: max(0, size - text.count))
    }

    private static func picture(_ version: Int) -> [UInt8] {
        let image = try? DecodedImage(width: 32, height: 32) { memory in
            for index in 0..<32 * 32 {
                memory[index * 4] = UInt8(truncatingIfNeeded: version * 40)
                memory[index * 4 + 3] = 255
            }
        }
        return image.flatMap { try? ImageEncoder.png().encode($0) } ?? []
    }

    /// Which version a proxied GET brings.
    private func get(_ url: String, _ fields: HTTPFields = [:], from cache: DownloadCache? = nil) async throws -> Int? {
        let answer = try await (cache ?? self.cache).forward(request(url, .get, fields))
        return Self.version(try await answer.bytes())
    }

    private static func version(_ bytes: [UInt8]) -> Int? {
        let line = String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self)
        return line.split(separator: " ").last.flatMap { Int($0) }
    }

    /// Which version a thumbnail is made of.
    private func thumbnail(
        _ url: String, from cache: DownloadCache? = nil, _ change: (inout ImageRequest) -> Void = { _ in }
    ) async throws -> Int {
        var request = ImageRequest(url, .fit(8, 8))
        change(&request)
        return Self.version(of: try await (cache ?? self.cache).thumbnail(for: request, as: .png()))
    }

    private static func version(of thumbnail: Thumbnail) -> Int {
        let image = try? ImageDecoder().decode(ImageSource(thumbnail.bytes))
        return image.map { Int($0.withUnsafeBytes { $0[0] }) / 40 } ?? 0
    }

    /// The ways to invalidate a URL, each by a process, or a cache as another process has it.
    enum Way: CaseIterable {
        case purge, purgeHost, purgePrefix, purgeAll, remove, clear, command, post
    }

    private func invalidate(_ url: String, _ way: Way, by cache: DownloadCache) async throws {
        if way != .post { version.withLock { $0 += 1 } }
        switch way {
        case .purge: try await cache.remove(.url(url))
        case .purgeHost: try await cache.remove(.host("127.0.0.1"))
        case .purgePrefix: try await cache.remove(.prefix(String(url.dropLast())))
        case .purgeAll: try await cache.clear()
        case .remove: try await cache.remove(FileRequest(url))
        case .clear: try await cache.clear()
        case .command:
            // There may be nothing to remove yet.
            let outcome = try await command.run(["rm", url])
            #expect(outcome.ending == .exited(0) || outcome.ending == .exited(7), "\(outcome)")
        case .post: _ = try await cache.forward(request(url, .post)).bytes()
        }
    }

    // MARK: Under way

    @Test(arguments: Way.allCases)
    func `a fill that began before an invalidation is delivered, but neither stored nor joined`(way: Way)
        async throws
    {
        let gate = Gate()
        let origin = try origin(gate: gate, size: 900_000)
        let url = origin.url("/a")
        let first = try await cache.forward(request(url))
        try await invalidate(url, way, by: other)
        // While the old one is still under way.
        #expect(try await get(url) == 2)
        gate.open()
        #expect(Self.version(try await first.bytes()) == 1)
        #expect(try await get(url) == 2)
        #expect(try await get(url, from: other) == 2)
        #expect(try await get(url, [.range: "bytes=0-9"]) == 2)
    }

    @Test(arguments: Way.allCases)
    func `a fill that ends after an invalidation without a request between is not stored`(way: Way) async throws {
        let gate = Gate()
        let origin = try origin(gate: gate, size: 900_000)
        let url = origin.url("/a")
        let first = try await cache.forward(request(url))
        try await invalidate(url, way, by: other)
        gate.open()
        #expect(Self.version(try await first.bytes()) == 1)
        #expect(try await cache.entries().allSatisfy { $0.url != url })
        #expect(try await get(url) == 2)
    }

    @Test(arguments: Way.allCases)
    func `an unfinished download answers no range after an invalidation`(way: Way) async throws {
        let gate = Gate()
        let origin = try origin(gate: gate, size: 900_000)
        let url = origin.url("/a")
        let first = try await cache.forward(request(url))
        // A block stands on disk.
        #expect(await origin.waits { $0.first?.bodyBytesSent == 300_000 })
        let range = request(url, .get, [.range: "bytes=0-9"])
        while try await cache.response(for: range).head.headerFields[.cacheStatus]?.contains("hit") != true {
            try await Task.sleep(for: .milliseconds(5))
        }
        try await invalidate(url, way, by: other)
        #expect(try await get(url, [.range: "bytes=0-9"]) == 2)
        gate.open()
        withExtendedLifetime(first) {}
    }

    @Test(arguments: Way.allCases)
    func `an original in transit during an invalidation is not used for later thumbnails`(way: Way) async throws {
        let gate = Gate()
        let origin = try origin()
        let held = try ScriptedOrigin { [version] request in
            let number = version.withLock { $0 }
            let body = Self.picture(number)
            let fields = [("ETag", "\"v\(number)\""), ("Cache-Control", "max-age=3600")]
            return (request.number == 1 ? [.wait(for: gate)] : []) + [
                .head(status: 200, fields: fields + [("Content-Length", "\(body.count)")]), .body(body),
            ]
        }
        let url = held.url("/a.png")
        _ = origin
        let first = Task { try await thumbnail(url) }
        #expect(await held.waits { $0.count == 1 })
        try await invalidate(url, way == .post ? .purge : way, by: other)
        let second = Task { try await thumbnail(url) }
        #expect(await held.waits { $0.count >= 1 })
        gate.open()
        _ = try await first.value
        #expect(try await second.value == 2)
        #expect(try await thumbnail(url) == 2)
        #expect(try await thumbnail(url, from: other) == 2)
    }

    @Test(arguments: Way.allCases)
    func `a decode in progress during an invalidation is delivered, but neither stored nor kept in memory`(way: Way)
        async throws
    {
        let origin = try origin()
        let url = origin.url("/a.png")
        let (begun, begins) = AsyncStream<Void>.makeStream()
        let gate = Gate()
        let slow = ImageProcessor(identity: "slow") { image in
            begins.yield()
            block { gate.isOpen }
            return image
        }
        let first = Task { try await thumbnail(url) { $0.processors = [slow] } }
        for await _ in begun { break }
        try await invalidate(url, way, by: other)
        gate.open()
        #expect(try await first.value == 1)
        #expect(try await thumbnail(url) { $0.processors = [slow] } == 2)
        #expect(try await thumbnail(url, from: other) { $0.processors = [slow] } == 2)
    }

    // MARK: In memory

    @Test(arguments: Way.allCases)
    func `an invalidation by another process removes small files and thumbnails from memory`(way: Way) async throws {
        let origin = try origin()
        let (url, picture) = (origin.url("/a"), origin.url("/a.png"))
        for _ in 0..<2 {
            #expect(try await get(url) == 1)
            #expect(try await thumbnail(picture) == 1)
        }
        #expect(cache.hotResponse(for: request(url)) != nil)
        #expect(cache.hotThumbnail(for: ImageRequest(picture, .fit(8, 8)), as: .encoder(.png())) != nil)
        try await invalidate(url, way, by: other)
        #expect(cache.hotResponse(for: request(url)) == nil)
        if way == .post || way == .command || way == .remove || way == .purge {
            try await invalidate(picture, way, by: other)
        }
        #expect(cache.hotThumbnail(for: ImageRequest(picture, .fit(8, 8)), as: .encoder(.png())) == nil)
        let now = version.withLock { $0 }
        #expect(try await get(url) == now)
        #expect(try await thumbnail(picture) == now)
    }

    @Test func `after a GET with no-cache, a thumbnail is made of the new original`() async throws {
        let origin = try origin()
        let url = origin.url("/a.png")
        #expect(try await thumbnail(url) == 1)
        version.withLock { $0 = 2 }
        _ = try await other.forward(request(url, .get, [.cacheControl: "no-cache"])).bytes()
        #expect(try await thumbnail(url) == 2)
        #expect(origin.requests.count == 2)
    }

    @Test(arguments: ["--refresh", "--revalidate"])
    func `after imgcache fetch, the running cache serves the new file and thumbnail`(option: String) async throws {
        let origin = try origin()
        let url = origin.url("/a.png")
        #expect(try await thumbnail(url) == 1)
        _ = try await cache.forward(request(url)).bytes()
        _ = try await cache.forward(request(url)).bytes()
        version.withLock { $0 = 2 }
        let outcome = try await command.run(["fetch", option, url])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        // A response stored later than the present would be stale.
        clock.withLock { $0 = Date() }
        #expect(try await thumbnail(url) == 2)
        #expect(try await cache.forward(request(url)).bytes() == Self.picture(2))
        #expect(origin.requests.count == 2)
    }

    @Test func `the head that a 304 brings reaches the memory of other processes`() async throws {
        let lifetime = Locked(60)
        let origin = try ScriptedOrigin { [clock] request in
            let fields = [
                ("Date", httpDate(clock.withLock { $0 })), ("ETag", "\"1\""),
                ("Cache-Control", "max-age=\(lifetime.withLock { $0 })"),
            ]
            if request["If-None-Match"] != nil { return [.head(status: 304, fields: fields)] }
            return [.head(status: 200, fields: fields + [("Content-Length", "1")]), .body([65])]
        }
        let url = origin.url("/a")
        for _ in 0..<2 { _ = try await cache.forward(request(url)).bytes() }
        #expect(cache.hotResponse(for: request(url))?.head.headerFields[.cacheControl] == "max-age=60")
        lifetime.withLock { $0 = 30 }
        _ = try await other.forward(request(url, .get, [.cacheControl: "no-cache"])).bytes()
        #expect(cache.hotResponse(for: request(url)) == nil)
        let answer = try await cache.forward(request(url))
        #expect(answer.head.headerFields[.cacheControl] == "max-age=30")
    }

    /// The content of a POST's response that is still on its way to a slow client: passed on, or stored for later GETs.
    @Test(arguments: [false, true])
    func `a POST invalidates once, when its head arrives, and not again while its content arrives`(
        isStored: Bool
    ) async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [version] request in
            let number = version.withLock { version in
                if request.method == "POST" { version += 1 }
                return version
            }
            let body = Self.text(number, size: 300_000)
            var fields = [("Cache-Control", "max-age=60"), ("Content-Length", "\(body.count)")]
            guard request.method == "POST" else { return [.head(status: 200, fields: fields), .body(body)] }
            if isStored { fields.append(("Content-Location", request.path)) }
            return [.head(status: 200, fields: fields), .body(Array(body[..<1000])), .wait(for: gate)]
                + [.body(Array(body[1000...]))]
        }
        let url = origin.url("/a")
        #expect(try await get(url) == 1)
        let posted = try await cache.forward(request(url, .post))
        #expect(status(of: posted).contains("stored") == isStored)
        // The client has the head of its POST.
        #expect(try await get(url) == 2)
        gate.open()
        #expect(Self.version(try await posted.bytes()) == 2)
        let asked = origin.requests.count
        for _ in 0..<20 {
            #expect(try await get(url) == 2)
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(origin.requests.count == asked)
    }

    // MARK: Order

    @Test func `a response to an earlier request does not replace that to a later one`() async throws {
        let gate = Gate()
        let origin = try origin(gate: gate, size: 900_000)
        let url = origin.url("/a")
        let first = try await cache.forward(request(url))
        version.withLock { $0 = 2 }
        clock.withLock { $0 += 1 }
        #expect(try await get(url, [.cacheControl: "no-cache"], from: other) == 2)
        gate.open()
        #expect(Self.version(try await first.bytes()) == 1)
        #expect(try await get(url) == 2)
    }

    @Test func `a purged download is completed after a revalidation, without fetching a byte twice`()
        async throws
    {
        let gate = Gate()
        let representation = Representation(seed: 5, size: 900_000)
        let origin = try ScriptedOrigin { request in
            Behaviour(representation).with { if request.number == 1 { $0.bodyGate = (500_000, gate) } }
        }
        let url = origin.url("/a")
        let process = try command.start(["fetch", url])
        #expect(await origin.waits { $0.first?.bodyBytesSent == 500_000 })
        try await cache.remove(.url(url))
        gate.open()
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(representation.content.equalsFile(at: outcome.lines.first ?? ""))
        #expect(origin.requests.count == 2)
        #expect(origin.bodyBytesSent <= 900_001)
        #expect(try await cache.entries().map(\.url) == [url])
    }
}
