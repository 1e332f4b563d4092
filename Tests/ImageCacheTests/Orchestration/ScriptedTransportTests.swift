import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing
import Transfer

@Suite(.timeLimit) struct ScriptedTransportTests {
    private let bytes = ScriptedRepresentation.bytes(1000)

    @Test func `a response that was seeded for a test is served without a request`() async throws {
        let bench = try Bench { _ in .failure() }
        try await bench.cache.seed(bytes, for: Bench.url)
        for consumer in Bench.Consumer.allCases { #expect(try await bench.get(consumer).body == Body(bytes)) }
        #expect(bench.sent.isEmpty)
    }

    @Test func `a response that must not be stored cannot be seeded for a test`() async throws {
        let bench = try Bench { _ in .failure() }
        await #expect(throws: ImageCacheError.self) {
            try await bench.cache.seed([1], for: Bench.url, fields: [.cacheControl: "no-store"])
        }
    }

    @Test func `a request is recorded as the origin would see it`() async throws {
        let bench = try Bench(ScriptedRepresentation(bytes))
        _ = try await bench.cache.file(
            for: bench.request { request in
                request.url += "?q=1"
                request.fields[.accept] = "image/png"
                request.client = "somebody"
                request.priority = .high
            })
        let request = try #require(bench.transport.requests.first)
        #expect(request.url == Bench.url + "?q=1" && request.path == "/a" && request.method == .get)
        #expect(request.fields[.accept] == "image/png" && request.client == "somebody" && request.priority == .high)
        #expect(request.ending == .finished && request.number == 1 && request.transfer == 1)
        #expect(bench.cache.transferTotals.bytesReceived == bytes.count)
    }

    @Test func `redirects are followed as far as the request allows`() async throws {
        let bench = try Bench { request in
            request.path == "/a" ? .redirect(to: "/b") : ScriptedResponse(.ok, body: [1, 2, 3])
        }
        let file = try await bench.cache.file(for: bench.request())
        #expect(file.finalURL == "http://origin.example/b" && bench.transport.requests.map(\.path) == ["/a", "/b"])
        #expect(bench.transport.requests.map(\.transfer) == [1, 1])
        #expect(await bench.failure(.file) { $0.transfer.maxRedirects = 0 } == .status(302))
    }

    @Test(arguments: [
        (301, HTTPRequest.Method.post, HTTPRequest.Method.get), (302, .post, .get), (303, .post, .get),
        (303, .put, .get), (303, .head, .head), (301, .put, .put), (307, .post, .post), (308, .post, .post),
    ])
    func `a redirect changes the method as that of the engine does`(
        _ status: Int, _ method: HTTPRequest.Method, _ next: HTTPRequest.Method
    ) async throws {
        let transport = ScriptedTransport { request in
            request.path == "/a" ? .redirect(.init(code: status), to: "/b") : ScriptedResponse(.noContent)
        }
        let request = TransferRequest(
            url: Bench.url, method: method, fields: [.contentType: "text/plain", .accept: "image/png"],
            body: method == .head ? nil : [1])
        _ = try await transport.run(request, into: MemorySink(), events: { _ in })
        let last = try #require(transport.requests.last)
        #expect(last.path == "/b" && last.method == next && last.fields[.accept] == "image/png")
        let keepsContent = next == method && method != .head
        #expect((last.body != nil) == keepsContent)
        if method != .head { #expect((last.fields[.contentType] != nil) == keepsContent) }
    }

    @Test func `a response with a Location that is no redirect is not followed`() async throws {
        let bench = try Bench { _ in ScriptedResponse(.init(code: 304), [.location: "/b"], steps: [], length: nil) }
        #expect(await bench.failure(.file) == .wrongBytes)
        #expect(bench.sent.count == 1)
    }

    @Test(arguments: [("/b", true), ("http://origin.example/b", true), ("http://other.example/b", false)])
    func `credentials follow a redirect only within their origin, as those of the engine`(
        target: String, follow: Bool
    ) async throws {
        let bench = try Bench { request in
            request.path == "/a" ? .redirect(to: target) : ScriptedResponse(.ok, body: [1, 2, 3])
        }
        _ = try await bench.cache.file(
            for: bench.request {
                $0.fields[.authorization] = "Bearer t"
                $0.fields[.cookie] = "a=b"
                $0.fields[.accept] = "image/png"
            })
        let last = try #require(bench.transport.requests.last)
        #expect((last.fields[.authorization] != nil) == follow && (last.fields[.cookie] != nil) == follow)
        #expect(last.path == "/b" && last.fields[.accept] == "image/png")
    }

    @Test(arguments: [nil, 1000])
    func `a body above the limit of the request is refused, whether its length is known or not`(
        length: Int?
    ) async throws {
        let bytes = bytes
        let bench = try Bench { _ in ScriptedResponse(.ok, steps: [.bytes(bytes)], length: length) }
        #expect(await bench.failure(.file) { $0.transfer.maxFileSize = 999 } == .store(.tooLarge))
        #expect(try await bench.get(.file) { $0.transfer.maxFileSize = 1000 }.body == Body(bytes))
    }

    @Test(arguments: [
        ("0-9223372036854775807", 206), ("999-", 206), ("-9223372036854775807", 206), ("5-3", 416), ("1000-", 416),
        ("5-x", 416), ("", 416), ("-", 416), ("0-1,5-6", 200),
    ])
    func `a representation answers any range`(range: String, status: Int) async throws {
        let representation = ScriptedRepresentation(bytes)
        let answered = Locked(0)
        let transport = ScriptedTransport { request in
            answered.withLock { $0 = representation.response(to: request).status.code }
            return ScriptedResponse(.notFound)
        }
        let request = TransferRequest(url: Bench.url, fields: [.range: "bytes=\(range)"])
        _ = try await transport.run(request, into: MemorySink(), events: { _ in })
        #expect(answered.withLock { $0 } == status)
    }

    @Test func `a cancelled wait for requests, or at a gate, ends`() async throws {
        let transport = ScriptedTransport { _ in ScriptedResponse(.notFound) }
        let gate = AsyncGate()
        let waits = [
            Task { _ = await transport.requests { !$0.isEmpty } }, Task { await gate.reached() },
            Task { await gate.wait() },
        ]
        for wait in waits { wait.cancel() }
        for wait in waits { await wait.value }
        #expect(transport.requests.isEmpty && !gate.isOpen)
    }

    @Test func `a transport that was shut down starts nothing`() async throws {
        let bench = try Bench(ScriptedRepresentation(bytes))
        await bench.cache.close()
        await #expect(throws: ImageCacheError.self) { try await bench.cache.file(for: bench.request()) }
        #expect(bench.sent.isEmpty)
    }

    @Test func `a custom transport needs only a dozen lines`() async throws {
        var configuration = DownloadCache.Configuration()
        configuration.transport = FixtureTransport(fixtures: [Bench.url: bytes])
        let directory = try TestDirectory()
        let cache = try DownloadCache(directory: directory.path("cache"), configuration: configuration)
        #expect(try Bench.body(of: try await cache.file(for: FileRequest(Bench.url))) == Body(bytes))
        await #expect(throws: ImageCacheError.self) { try await cache.file(for: "http://origin.example/other") }
    }
}
