import CacheTestSupport
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Responses that do not vary on all of their query: one entry for equivalent URLs.
@Suite(.timeLimit)
struct SearchVarianceCachingTests {
    private static let bytes = ScriptedRepresentation.bytes(5000)

    private static func representation(_ variance: String?, _ more: HTTPFields = [:]) -> ScriptedRepresentation {
        var fields = more
        if !fields.contains(.cacheControl) { fields[.cacheControl] = "max-age=60" }
        if let variance { HTTPField.Name("No-Vary-Search").map { fields[$0] = variance } }
        return ScriptedRepresentation(bytes, fields)
    }

    private func bench(
        _ mode: CacheMode = .private, _ variance: String? = "params=(\"utm_source\"), key-order",
        _ more: HTTPFields = [:]
    ) throws -> Bench {
        try Bench(mode) { Self.representation(variance, more).response(to: $0) }
    }

    private func request(_ query: String) -> FileRequest { FileRequest(Bench.url + query) }

    @Test(arguments: Bench.Consumer.allCases)
    func `an equivalent URL is answered from the store, another one is not`(consumer: Bench.Consumer) async throws {
        let bench = try bench(consumer == .proxied ? .shared : .private)
        _ = try await bench.get(consumer, request("?id=1&utm_source=a"))
        let equivalent = try await bench.get(consumer, request("?utm_source=b&id=1"))
        #expect(equivalent.body == Body(Self.bytes))
        #expect(bench.sent.count == 1)
        _ = try await bench.get(consumer, request("?id=2"))
        #expect(bench.sent.count == 2)
        _ = try await bench.get(consumer, request("?id=1"))
        #expect(bench.sent.count == 2)
        #expect(try await Set(bench.cache.entries().map(\.url)) == [Bench.url + "?id=1", Bench.url + "?id=2"])
    }

    @Test func `each URL has its own response without No-Vary-Search`() async throws {
        let bench = try bench(.private, nil)
        for query in ["?id=1&b=2", "?b=2&id=1"] { _ = try await bench.get(.file, request(query)) }
        #expect(bench.sent.count == 2)
    }

    @Test
    func `an equivalent URL is not revalidated with another's validator, and its response replaces the stale one`()
        async throws
    {
        let bench = try bench()
        _ = try await bench.get(.file, request("?id=1"))
        bench.advance(seconds: 100)
        // Its entity tag means something at the URL that it came from only: the origin is asked for all of it.
        let file = try await bench.cache.file(for: request("?id=1&utm_source=x"))
        #expect(file.source == .network)
        #expect(try await bench.cache.file(for: request("?id=1")).source == .disk)
        #expect(try await bench.cache.entries().count == 1)
    }

    @Test func `Vary applies in addition to No-Vary-Search`() async throws {
        let bench = try bench(.private, "params=(\"a\")", [.vary: "Accept-Language"])
        func get(_ query: String, _ language: String) async throws {
            var request = request(query)
            request.fields[.acceptLanguage] = language
            _ = try await bench.get(.file, request)
        }
        for (query, language) in [("?a=1", "de"), ("?a=2", "de"), ("?a=1", "en"), ("?a=2", "en"), ("?a=3", "fr")] {
            try await get(query, language)
        }
        #expect(bench.sent.count == 3)
        for language in ["de", "en", "fr"] { try await get("?a=9", language) }
        #expect(bench.sent.count == 3)
    }

    @Test func `owners and credentials have responses of their own`() async throws {
        let bench = try bench()
        for owner in ["ann", "bob", nil] {
            for query in ["?id=1&utm_source=1", "?id=1&utm_source=2"] {
                var request = request(query)
                request.owner = owner
                _ = try await bench.get(.file, request)
            }
        }
        #expect(bench.sent.count == 3)
    }

    @Test func `a purge of one URL also removes equivalent responses, including those in progress`() async throws {
        let gate = AsyncGate()
        let bench = try Bench { request in
            let response = Self.representation("params=(\"a\")").response(to: request)
            return request.number == 2 ? response.after(gate) : response
        }
        _ = try await bench.get(.file, request("?a=1"))
        #expect(try await bench.cache.remove(request("?a=2")).entries == 1)
        async let late = bench.get(.file, request("?a=3"))
        await bench.transport.requests { $0.count == 2 }
        try await bench.cache.remove(request("?a=2"))
        gate.open()
        _ = try await late
        _ = try await bench.get(.file, request("?a=2"))
        #expect(bench.sent.count == 3)
    }

    @Test func `a copy in memory ends when an equivalent URL gets a newer response`() async throws {
        let bench = try Bench(.shared) { request in
            var representation = Self.representation("params=(\"a\")")
            representation.bytes = [UInt8(request.number)]
            representation.etag = "\"\(request.number)\""
            return representation.response(to: request)
        }
        let first = request("?a=1")
        for _ in 0..<2 { _ = try await bench.get(.proxied, first) }
        var reload = request("?a=2")
        reload.policy = .reloadIgnoringLocalCacheData
        _ = try await bench.get(.file, reload)
        #expect(bench.cache.hotResponse(for: first) == nil)
        #expect(try await bench.get(.proxied, first).body == Body([2]))
    }

    static let targets: [(RemovalTarget, Bool)] = [
        (.url(Bench.url + "?id=1&utm_source=x"), true), (.url(Bench.url), true), (.prefix(Bench.url + "?id="), true),
        (.prefix(Bench.url + "?utm_source=x"), true), (.prefix(Bench.url), true), (.host("origin.example"), true),
        (.url(Bench.url + "b?id=1"), false), (.prefix(Bench.url + "b?id=1"), false),
    ]

    @Test(arguments: targets)
    func `a removal also finds the responses to equivalent URLs that an owner has`(
        target: RemovalTarget, isMeant: Bool
    ) async throws {
        let bench = try bench()
        for owner in ["ann", nil] {
            var request = request("?utm_source=x&id=1")
            request.owner = owner
            _ = try await bench.get(.file, request)
        }
        let entries = try await bench.cache.entries()
        #expect(entries.count == 2)
        // As a dry run selects them.
        #expect(entries.filter(target.entryMatcher).count == (isMeant ? 2 : 0))
        #expect(try await bench.cache.remove(target).entries == (isMeant ? 2 : 0))
        var owned = request("?id=1")
        owned.owner = "ann"
        _ = try await bench.get(.file, owned)
        #expect(bench.sent.count == (isMeant ? 3 : 2))
    }

    @Test func `a removal by URL leaves an owner's responses that vary on all of the query`() async throws {
        let bench = try bench(.private, nil)
        for query in ["?id=1", "?id=2"] {
            var request = request(query)
            request.owner = "ann"
            _ = try await bench.get(.file, request)
        }
        #expect(try await bench.cache.remove(.url(Bench.url + "?id=1")).entries == 1)
        #expect(try await bench.cache.entries().map(\.url) == [Bench.url + "?id=2"])
    }
}
