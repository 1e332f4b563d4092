import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// The responses that a proxy sends on.
@Suite(.timeLimit) struct ForwardingHeadTests {
    private let representation = ScriptedRepresentation(ScriptedRepresentation.bytes(1000))

    struct Narrow: Sendable, CustomTestStringConvertible {
        let fields: HTTPFields
        let code: Int
        let range: Range<Int>?

        var testDescription: String { "\(fields)" }

        init(_ fields: HTTPFields, _ code: Int, _ range: Range<Int>? = nil) {
            self.fields = fields
            self.code = code
            self.range = range
        }
    }

    static let narrow = [
        Narrow([.range: "bytes=0-9"], 206, 0..<10), Narrow([.range: "bytes=990-"], 206, 990..<1000),
        Narrow([.range: "bytes=-10"], 206, 990..<1000), Narrow([.range: "bytes=2000-"], 416),
        Narrow([.range: "lines=1-2"], 200, 0..<1000), Narrow([.range: "bytes=0-9", .ifRange: "\"1\""], 206, 0..<10),
        Narrow([.range: "bytes=0-9", .ifRange: "\"2\""], 200, 0..<1000), Narrow([.ifNoneMatch: "\"1\""], 304),
        Narrow([.ifNoneMatch: "\"2\""], 200, 0..<1000), Narrow([.ifNoneMatch: "*"], 304),
    ]

    @Test(arguments: narrow, [Bench.Consumer.proxied, .answer])
    func `a range or a condition is answered from the stored file, or loads it`(
        _ narrow: Narrow, _ consumer: Bench.Consumer
    ) async throws {
        let bench = try Bench(representation)
        for _ in 0..<2 {
            let outcome = try await bench.get(consumer) { $0.fields = narrow.fields }
            #expect(outcome.code == narrow.code)
            #expect(outcome.body == Body(narrow.range.map { Array(representation.bytes[$0]) } ?? []))
        }
        // One request brings all of a body that has one block.
        #expect(bench.sent.count == 1 && bench.transport.requests.first?.fields[.ifNoneMatch] == nil)
    }

    @Test(arguments: [Bench.Consumer.proxied, .answer])
    func `HEAD loads no body, and a stored response answers it`(_ consumer: Bench.Consumer) async throws {
        let bench = try Bench(representation)
        let head = try await bench.get(consumer) { $0.method = .head }
        #expect(head.code == 200 && head.body == [] && bench.sent == ["HEAD"])
        _ = try await bench.get(consumer)
        _ = try await bench.get(consumer) { $0.method = .head }
        #expect(bench.sent == ["HEAD", "GET"])
    }

    @Test(arguments: [200, 201, 203, 204, 206, 301, 302, 304, 307, 400, 404, 418, 500, 503])
    func `a proxy passes on every status`(_ status: Int) async throws {
        let bench = try Bench { _ in
            let hasBody = status != 204 && status != 304
            return ScriptedResponse(
                .init(code: status), [.location: "/b"], steps: hasBody ? [.bytes([1, 2])] : [],
                length: hasBody ? 2 : nil)
        }
        // A 304 answers a condition of the client's own.
        let outcome = try await bench.get(.proxied) { request in
            if status == 304 { request.fields[.ifMatch] = "\"1\"" }
        }
        #expect(outcome.code == status && outcome.body == (status == 204 || status == 304 ? Body([]) : Body([1, 2])))
        #expect(bench.transport.requests.map(\.path) == ["/a"])
    }

    @Test(arguments: ["connection", "keep-alive", "proxy-authenticate", "te", "upgrade", "x-of-this-hop"])
    func `fields of one connection are not passed on`(_ name: String) async throws {
        let field = try #require(HTTPField.Name(name))
        let kept = try #require(HTTPField.Name("X-End-To-End"))
        for cacheControl in ["no-store", "max-age=60"] {
            let bench = try Bench { _ in
                var fields: HTTPFields = [.cacheControl: cacheControl, kept: "1", field: "x-of-this-hop"]
                if let connection = HTTPField.Name("Connection") { fields[connection] = "x-of-this-hop" }
                return ScriptedResponse(.ok, fields, body: [1])
            }
            let answer = try await bench.cache.forward(bench.request())
            #expect(answer.head.headerFields[field] == nil && answer.head.headerFields[kept] == "1")
        }
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch, .options])
    func `a method without caching bypasses the store, with its content`(_ method: HTTPRequest.Method)
        async throws
    {
        let bench = try Bench { _ in ScriptedResponse(.ok, [.cacheControl: "no-store"], body: [7]) }
        let outcome = try await bench.get(.proxied) { request in
            request.method = method
            request.body = [1, 2, 3]
        }
        #expect(outcome.body == [7] && bench.transport.requests.map(\.body) == [[1, 2, 3]])
        #expect(bench.sent == [method.rawValue] && outcome.status.forward != nil)
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch])
    func `an unsafe request is sent only once`(_ method: HTTPRequest.Method) async throws {
        let bench = try Bench { _ in .failure(.cut) }
        #expect(await bench.failure(.proxied) { $0.method = method } == .unreachable)
        #expect(bench.sent.count == 1)
    }

    @Test func `a POST response with Content-Location answers later GETs`() async throws {
        let bench = try Bench { _ in
            ScriptedResponse(
                .ok, [.cacheControl: "max-age=60", .contentLocation: Bench.url], body: [5])
        }
        #expect(try await bench.get(.proxied) { $0.method = .post }.body == [5])
        #expect(try await bench.get(.proxied).body == [5])
        #expect(bench.sent == ["POST"])
    }

    @Test func `interim responses are passed on`() async throws {
        let bench = try Bench { [representation] request in
            var response = representation.response(to: request)
            response.interim = [HTTPResponse(status: .init(code: 103), headerFields: [.contentLanguage: "en"])]
            return response
        }
        let seen = Locked<[Int]>([])
        var request = ForwardRequest(bench.request())
        request.interim = { response in seen.withLock { $0.append(response.status.code) } }
        _ = try await Bench.body(of: bench.cache.forward(request))
        #expect(seen.withLock { $0 } == [103])
    }

    @Test func `only-if-cached is answered with 504 when nothing is stored`() async throws {
        let bench = try Bench(representation)
        for consumer in [Bench.Consumer.proxied, .answer] {
            #expect(try await bench.get(consumer) { $0.fields[.cacheControl] = "only-if-cached" }.code == 504)
        }
        _ = try await bench.get(.file)
        #expect(try await bench.get(.proxied) { $0.fields[.cacheControl] = "only-if-cached" }.code == 200)
        #expect(bench.sent.count == 1)
    }

    static let uncached: [HTTPFields] = [
        [.cacheControl: "only-if-cached, no-store"], [.cacheControl: "only-if-cached", .ifMatch: "\"1\""],
        [.cacheControl: "Only-If-Cached", .ifUnmodifiedSince: "Thu, 01 Jan 2026 00:00:00 GMT"],
        [.cacheControl: "only-if-cached, no-store", .range: "bytes=0-1,4-5"],
    ]

    @Test(arguments: uncached)
    func `only-if-cached keeps from the origin also what no stored response may answer`(_ fields: HTTPFields)
        async throws
    {
        let bench = try Bench(representation)
        for method in [HTTPRequest.Method.get, .head] {
            let outcome = try await bench.get(.proxied) { request in
                (request.method, request.fields) = (method, fields)
            }
            #expect(outcome.code == 504 && outcome.body == [] && outcome.status.detail == "only-if-cached")
        }
        #expect(bench.sent.isEmpty)
        _ = try await bench.get(.proxied) { request in (request.method, request.fields) = (.delete, fields) }
        #expect(bench.sent == ["DELETE"])
    }

    @Test(arguments: ["no-storefront", "foo=\"a, no-store\"", "x-no-store"])
    func `a directive that only contains the name of no-store leaves a request to the store`(_ said: String)
        async throws
    {
        let bench = try Bench(representation)
        for _ in 0..<2 { _ = try await bench.get(.proxied) { $0.fields[.cacheControl] = said } }
        #expect(bench.sent.count == 1)
    }

    @Test func `a small response that was asked for twice is in memory`() async throws {
        let bench = try Bench(representation)
        #expect(bench.cache.hotResponse(for: bench.request()) == nil)
        let ready = try await bench.hotResponse()
        #expect(Body(try ready.bytes()) == representation.content)
        bench.advance(seconds: 61)
        #expect(bench.cache.hotResponse(for: bench.request()) == nil)
    }

    @Test func `the head reports how the cache got the response`() async throws {
        let bench = try Bench(representation)
        let name = try #require(HTTPField.Name("Cache-Status"))
        var seen: [String] = []
        for _ in 0..<2 {
            let answer = try await bench.cache.forward(bench.request())
            seen.append(answer.head.headerFields[name] ?? "")
            _ = try await Bench.body(of: answer)
        }
        #expect(seen == ["imgcache; fwd=uri-miss; fwd-status=200; stored", "imgcache; hit; ttl=60"])
    }
}
