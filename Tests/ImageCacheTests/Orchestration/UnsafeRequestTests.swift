import CacheTestSupport
import ConcurrencyPrimitives
import Digests
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Requests that change something at the origin: each arrives, once (RFC 9111 section 4, RFC 9110 section 9.2.1).
@Suite(.timeLimit) struct UnsafeRequestTests {
    /// A way to send a request whose body is "order" and to get the text of its response.
    struct Way: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let send: @Sendable (DownloadCache, FileRequest) async throws -> String

        init(_ name: String, _ send: @escaping @Sendable (DownloadCache, FileRequest) async throws -> String) {
            testDescription = name
            self.send = send
        }

        static func text(of file: CachedFile) throws -> String {
            String(decoding: try Data(contentsOf: URL(filePath: file.path)), as: UTF8.self)
        }
    }

    static let methods: [HTTPRequest.Method] = [.post, .put, .delete, .patch]
    static let ways = [
        Way("file") { try Way.text(of: await $0.file(for: $1)) },
        Way("download") { try Way.text(of: await $0.download($1).file) },
        Way("data") { String(decoding: try await $0.data(for: $1).value, as: UTF8.self) },
        Way("text") { try await $0.text(for: $1).value },
        Way("value") { cache, request in
            try await cache.value(for: request, as: String.self) { String(decoding: $0.data, as: UTF8.self) }.value
        },
        Way("files") { try Way.text(of: try #require(await $0.files(for: [$1]).files().first)) },
        Way("cachedThenFresh") { cache, request in
            var texts: [String] = []
            for try await file in cache.cachedThenFresh(for: request) { texts.append(try Way.text(of: file)) }
            return try #require(texts.count == 1 ? texts.first : nil)
        },
        Way("forward") { String(decoding: try await Bench.body(of: $0.forward($1)).bytes, as: UTF8.self) },
    ]

    private static func request(
        _ method: HTTPRequest.Method, _ change: (inout FileRequest) -> Void = { _ in }
    ) -> FileRequest {
        var request = FileRequest(Bench.url)
        request.method = method
        request.body = Array("order".utf8)
        request.transfer.retry.baseDelay = .zero
        change(&request)
        return request
    }

    private static func numbered(_ request: ScriptedRequest, _ fields: HTTPFields = [:]) -> ScriptedResponse {
        ScriptedResponse(.ok, fields, body: Array("number \(request.number)".utf8))
    }

    @Test(arguments: methods, ways)
    func `concurrent equal unsafe requests are all sent, and each gets its own response`(
        _ method: HTTPRequest.Method, _ way: Way
    ) async throws {
        let gate = AsyncGate()
        let bench = try Bench { Self.numbered($0).after(gate) }
        let tasks = (0..<3).map { _ in Task { try await way.send(bench.cache, Self.request(method)) } }
        #expect(await eventually { bench.transport.requests.count == 3 })
        gate.open()
        var texts: [String] = []
        for task in tasks { texts.append(try await task.value) }
        #expect(texts.sorted() == ["number 1", "number 2", "number 3"])
        #expect(bench.transport.requests.count == 3)
    }

    @Test(arguments: methods)
    func `unsafe requests of a prefetch are all sent`(_ method: HTTPRequest.Method) async throws {
        let bench = try Bench { Self.numbered($0) }
        let prefetch = bench.cache.prefetch([FileRequest](repeating: Self.request(method), count: 3), width: 3)
        await prefetch.finish()
        #expect(prefetch.counts.loaded == 3 && bench.transport.requests.count == 3)
    }

    @Test(arguments: methods)
    func `an unsafe request is not replaced by another`(_ method: HTTPRequest.Method) async throws {
        let gate = AsyncGate()
        let bench = try Bench { $0.number == 1 ? Self.numbered($0).after(gate) : Self.numbered($0) }
        let replacing = Self.request(method) { $0.duplicates = .replace }
        let first = bench.cache.download(replacing)
        await gate.reached()
        #expect(try await Way.text(of: bench.cache.file(for: replacing)) == "number 2")
        gate.open()
        #expect(try await Way.text(of: first.file) == "number 1")
    }

    @Test(arguments: methods)
    func `an unsafe request does not wait for a download of its URL`(_ method: HTTPRequest.Method) async throws {
        let (download, order) = (AsyncGate(), AsyncGate())
        let fields: HTTPFields = [.cacheControl: "max-age=60", .contentLocation: Bench.url]
        let bench = try Bench { request in
            Self.numbered(request, fields).after(request.method == .get ? download : order)
        }
        async let file = bench.cache.file(for: FileRequest(Bench.url))
        await download.reached()
        async let answer = bench.cache.file(for: Self.request(method) { $0.transfer.stallTimeout = .seconds(3600) })
        #expect(await eventually { bench.transport.requests.count == 2 })
        order.open()
        #expect(try await Way.text(of: answer) == "number 2")
        download.open()
        #expect(try await Way.text(of: file) == "number 1")
    }

    @Test(arguments: methods)
    func `an unsafe request keeps the bytes that a download has received`(_ method: HTTPRequest.Method) async throws {
        let representation = ScriptedRepresentation(ScriptedRepresentation.bytes(1_000_000))
        let bench = try Bench { request in
            guard request.method == .get else { return ScriptedResponse(.badRequest) }
            let response = representation.response(to: request)
            return request.number == 1 ? response.cut(after: 600_000) : response
        }
        var request = FileRequest(Bench.url)
        request.transfer.retry.maxRetries = 0
        _ = try? await bench.cache.file(for: request)
        // A failure: a success invalidates the URL, and the partial with it.
        _ = try? await bench.cache.file(for: Self.request(method))
        let file = try await bench.cache.file(for: request)
        #expect(try Bench.body(of: file) == representation.content)
        #expect(bench.transport.requests.last?.fields[.range] == "bytes=600000-")
    }

    @Test(arguments: methods)
    func `the response to an unsafe request is never resumed`(_ method: HTTPRequest.Method) async throws {
        let representation = ScriptedRepresentation(ScriptedRepresentation.bytes(1_000_000))
        let other = ScriptedRepresentation(ScriptedRepresentation.bytes(1_000_000, seed: 2))
        let bench = try Bench { request in
            request.method == .get
                ? representation.response(to: request) : other.response(to: request).cut(after: 600_000)
        }
        let request = Self.request(method) { $0.noStoreBehavior = .deliverKeepingPartial }
        for _ in 0..<2 { _ = try? await bench.cache.file(for: request) }
        #expect(try await Bench.body(of: bench.cache.file(for: FileRequest(Bench.url))) == representation.content)
        #expect(bench.transport.requests.map { $0.fields[.range] } == [nil, nil, nil])
    }

    @Test(arguments: methods, [ScriptedResponse(.serviceUnavailable), .failure(.cut), .failure(.stalled)])
    func `an unsafe request that fails is not sent again`(
        _ method: HTTPRequest.Method, _ response: ScriptedResponse
    ) async throws {
        let bench = try Bench { _ in response }
        await #expect(throws: ImageCacheError.self) { try await bench.cache.file(for: Self.request(method)) }
        #expect(bench.transport.requests.count == 1)
    }

    @Test func `an unsafe request is not answered with a stored body of its digest`() async throws {
        let body = Array("number 1".utf8)
        let bench = try Bench { _ in ScriptedResponse(.ok, [.cacheControl: "max-age=60"], body: body) }
        let digest = try #require(Digest(.sha256, try RunningDigest.digest(.sha256, of: body)))
        var stored = FileRequest("http://origin.example/stored")
        stored.integrity.digest = digest
        _ = try await bench.cache.file(for: stored)
        let request = Self.request(.post) {
            $0.integrity.digest = digest
            $0.reusesEqualBodies = true
        }
        for _ in 0..<2 { _ = try await bench.cache.file(for: request) }
        #expect(bench.sent == ["GET", "POST", "POST"])
    }

    @Test func `an unsafe request is sent once, even if its URL is purged meanwhile`() async throws {
        let gate = AsyncGate()
        let fields: HTTPFields = [.cacheControl: "max-age=60", .contentLocation: Bench.url]
        let bench = try Bench { Self.numbered($0, fields).pausing(after: 3, for: gate) }
        let answer = bench.cache.download(Self.request(.post) { $0.noStoreBehavior = .fail })
        await gate.reached()
        _ = try await bench.cache.remove(FileRequest(Bench.url))
        gate.open()
        _ = try? await answer.file
        #expect(bench.sent == ["POST"])
    }

    @Test(arguments: [HTTPRequest.Method.get, .query, .post])
    func `safe queries share a response if their content is the same`(
        _ method: HTTPRequest.Method
    ) async throws {
        let bench = try Bench { request in
            ScriptedResponse(.ok, [.cacheControl: "max-age=60"], body: request.body ?? [])
        }
        for content in ["a", "b", "a", "b"] {
            let request = Self.request(method) {
                $0.body = Array(content.utf8)
                $0.isSafeQuery = method == .post
            }
            #expect(try await Way.text(of: bench.cache.file(for: request)) == content)
            #expect(try await bench.cache.text(for: request).value == content)
        }
        #expect(try await bench.cache.text(for: FileRequest(Bench.url)).value == "")
        #expect(bench.transport.requests.count == 3)
    }

    @Test(arguments: [HTTPRequest.Method.get, .query, .post])
    func `concurrent equal safe queries share one transfer`(_ method: HTTPRequest.Method) async throws {
        let gate = AsyncGate()
        let bench = try Bench { Self.numbered($0).after(gate) }
        let request = Self.request(method) { $0.isSafeQuery = method == .post }
        let downloads = (0..<3).map { _ in bench.cache.download(request) }
        await gate.reached()
        gate.open()
        for download in downloads { #expect(try await Way.text(of: download.file) == "number 1") }
        #expect(bench.transport.requests.count == 1)
    }
}
