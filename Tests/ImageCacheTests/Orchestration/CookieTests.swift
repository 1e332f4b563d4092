import CacheTestSupport
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// A cookie is for the client whose request received it (RFC 9111 section 7.3).
@Suite(.timeLimit) struct CookieTests {
    private static let secret = "session=a-secret-"
    private static let bytes = ScriptedRepresentation.bytes(600_000)
    static let pairs = Bench.Consumer.allCases.flatMap { first in Bench.Consumer.allCases.map { (first, $0) } }

    /// A bench whose responses all set another cookie, also a 304.
    private static func bench(
        _ fields: HTTPFields = [.cacheControl: "public, max-age=60"], _ mode: CacheMode = .shared,
        _ shape: @escaping @Sendable (ScriptedRequest, ScriptedResponse) -> ScriptedResponse = { $1 }
    ) throws -> Bench {
        try Bench(mode) { request in
            var representation = ScriptedRepresentation(bytes, fields)
            representation.fields[.setCookie] = "\(secret)\(request.number)"
            return shape(request, representation.response(to: request))
        }
    }

    private static func cookies(_ consumer: Bench.Consumer, of bench: Bench) async throws -> [String] {
        let request = bench.request()
        let fields: HTTPFields
        switch consumer {
        case .file: fields = try await bench.cache.file(for: request).response.fields
        case .answer: fields = try await bench.cache.response(for: request).head.headerFields
        case .proxied:
            let answer = try await bench.cache.forward(request)
            _ = try await Bench.body(of: answer)
            fields = answer.head.headerFields
        }
        return fields[values: .setCookie].filter { !$0.isEmpty }
    }

    private static func isOnDisk(_ text: String, _ bench: Bench) throws -> Bool {
        let files = try #require(FileManager.default.enumerator(atPath: bench.cache.directory))
        for case let name as String in files {
            guard let data = FileManager.default.contents(atPath: bench.cache.directory + "/" + name) else { continue }
            if data.range(of: Data(text.utf8)) != nil { return true }
        }
        return false
    }

    @Test(arguments: pairs, [CacheMode.shared, .private])
    func `a cookie reaches only the request that fetched it, and is not written to disk`(
        _ pair: (Bench.Consumer, Bench.Consumer), _ mode: CacheMode
    ) async throws {
        let bench = try Self.bench([.cacheControl: "public, max-age=60"], mode)
        #expect(try await Self.cookies(pair.0, of: bench) == ["\(Self.secret)1"])
        for _ in 0..<2 { #expect(try await Self.cookies(pair.1, of: bench).isEmpty) }
        #expect(bench.sent.count == 1)
        #expect(try !Self.isOnDisk(Self.secret, bench))
    }

    @Test(arguments: pairs)
    func `a request that shares a transfer does not get its cookie`(
        _ pair: (Bench.Consumer, Bench.Consumer)
    ) async throws {
        let gate = AsyncGate()
        let bench = try Self.bench { $1.pausing(after: 400_000, for: gate) }
        async let first = Self.cookies(pair.0, of: bench)
        await gate.reached()
        async let second = Self.cookies(pair.1, of: bench)
        gate.open()
        #expect(try await first == ["\(Self.secret)1"])
        #expect(try await second == [])
        #expect(bench.sent.count == 1)
    }

    @Test(arguments: Bench.Consumer.allCases)
    func `the cookie of a 304 reaches only the request that revalidated`(_ consumer: Bench.Consumer) async throws {
        let bench = try Self.bench()
        _ = try await Self.cookies(.file, of: bench)
        bench.advance(seconds: 100)
        #expect(try await Self.cookies(consumer, of: bench) == ["\(Self.secret)2"])
        #expect(try await Self.cookies(consumer, of: bench).isEmpty)
        #expect(bench.sent.count == 2)
        #expect(try !Self.isOnDisk(Self.secret, bench))
    }

    @Test func `the cookies of an interrupted response and of a redirect are not written to disk`() async throws {
        let bench = try Bench { request in
            guard request.path == "/b" else {
                var response = ScriptedResponse.redirect(to: "/b")
                response.fields[.setCookie] = "\(Self.secret)of the redirect"
                response.fields[.cacheControl] = "max-age=60"
                return response
            }
            var representation = ScriptedRepresentation(Self.bytes)
            representation.fields[.setCookie] = "\(Self.secret)\(request.number)"
            let response = representation.response(to: request)
            return request.number == 2 ? response.cut(after: 400_000) : response
        }
        let request = bench.request { $0.transfer.retry.maxRetries = 0 }
        await #expect(throws: ImageCacheError.self) { try await bench.cache.file(for: request) }
        #expect(try !Self.isOnDisk(Self.secret, bench))
        let file = try await bench.cache.file(for: request)
        #expect(file.source == .networkResumed && file.response.fields[.setCookie] == "\(Self.secret)4")
        #expect(try !Self.isOnDisk(Self.secret, bench))
    }

    /// The values of the fields that a directive keeps from other requests, in a response to a proxy's client.
    private static func withheld(_ bench: Bench, _ consumer: Bench.Consumer = .proxied) async throws -> [String] {
        let fields: HTTPFields
        if consumer == .answer {
            fields = try await bench.cache.response(for: bench.request()).head.headerFields
        } else {
            let answer = try await bench.cache.forward(bench.request())
            _ = try await Bench.body(of: answer)
            fields = answer.head.headerFields
        }
        return fields[values: .setCookie].filter { !$0.isEmpty }
            + (try fields[values: #require(HTTPField.Name("X-User"))])
    }

    private static let directives = ["private=\"Set-Cookie, X-User\"", "no-cache=\"Set-Cookie, X-User\""]

    private static func bench(
        withholding directive: String,
        _ shape: @escaping @Sendable (ScriptedResponse) -> ScriptedResponse = { $0 }
    ) throws -> Bench {
        let user = try #require(HTTPField.Name("X-User"))
        return try bench([.cacheControl: "public, max-age=60, \(directive)"]) { request, response in
            var response = response
            response.fields[user] = "a-secret-user-\(request.number)"
            return shape(response)
        }
    }

    @Test(arguments: directives, [Bench.Consumer.answer, .proxied])
    func `a field that private or no-cache names reaches the request that fetched it, and no other`(
        _ directive: String, _ consumer: Bench.Consumer
    ) async throws {
        let bench = try Self.bench(withholding: directive)
        #expect(try await Self.withheld(bench, consumer) == ["\(Self.secret)1", "a-secret-user-1"])
        for other in [Bench.Consumer.answer, .proxied, .proxied] {
            #expect(try await Self.withheld(bench, other).isEmpty)
        }
        #expect(bench.sent.count == 1)
        // RFC 9111 section 5.2.2.4 restricts the use, not the storing.
        #expect(try Self.isOnDisk("a-secret-user", bench) == directive.hasPrefix("no-cache"))
        bench.advance(seconds: 100)
        #expect(try await Self.withheld(bench, consumer) == ["\(Self.secret)2", "a-secret-user-2"])
        #expect(try await Self.withheld(bench, consumer).isEmpty)
    }

    @Test(arguments: directives)
    func `a request that shares a transfer, or is next, gets no field that private or no-cache names`(
        _ directive: String
    ) async throws {
        let gate = AsyncGate()
        let bench = try Self.bench(withholding: directive) { $0.pausing(after: 400_000, for: gate) }
        async let first = Self.withheld(bench)
        await gate.reached()
        async let second = Self.withheld(bench)
        gate.open()
        #expect(try await first == ["\(Self.secret)1", "a-secret-user-1"])
        #expect(try await second == [])
        #expect(bench.sent.count == 1)
    }

    @Test func `what one cookie file or user agent received is not used from memory for another`() async throws {
        let bench = try Bench { request in
            ScriptedResponse(
                .ok, [.cacheControl: "max-age=60", .vary: "Cookie, User-Agent"], body: [UInt8(request.number)])
        }
        let file = bench.directory.path("cookies")
        try Data("a".utf8).write(to: URL(filePath: file))
        func bodies(_ change: (inout FileRequest) -> Void) async throws -> Set<[UInt8]> {
            let request = bench.request(change)
            var bodies: Set<[UInt8]> = []
            for _ in 0..<3 {
                bodies.insert(try await bench.get(.file, request).body.bytes)
                bodies.insert(
                    [UInt8](try await bench.cache.value(for: request, as: Data.self) { $0.data }.value))
            }
            return bodies
        }
        #expect(try await bodies { $0.transfer.cookieFile = file } == [[1]])
        #expect(try await bodies { $0.transfer.cookieFile = bench.directory.path("other") } == [[2]])
        try Data("bc".utf8).write(to: URL(filePath: file))
        #expect(try await bodies { $0.transfer.cookieFile = file } == [[3]])
        #expect(try await bodies { $0.transfer.userAgent = "a" } == [[4]])
        #expect(try await bodies { $0.transfer.userAgent = "b" } == [[5]])
        #expect(try await bodies { $0.transfer.userAgent = "a" } == [[4]])
    }

    @Test func `the cookie of a response to HEAD reaches its request`() async throws {
        let bench = try Self.bench()
        let request = bench.request { $0.method = .head }
        #expect(try await bench.cache.response(for: request).head.headerFields[.setCookie] == "\(Self.secret)1")
        #expect(try await bench.cache.forward(request).head.headerFields[.setCookie] == "\(Self.secret)2")
    }
}
