import CacheTestSupport
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Look-ups of several requests at a time, and the fetches that go on from them.
@Suite(.timeLimit) struct BatchLookupTests {
    private static let bytes = ScriptedRepresentation.bytes(20_000)

    private func bench(_ fields: HTTPFields = [.cacheControl: "max-age=60"]) throws -> Bench {
        try Bench(ScriptedRepresentation(Self.bytes, fields))
    }

    /// The request as it goes on from a look-up that found nothing to serve.
    private func missed(_ bench: Bench, _ url: String = Bench.url) throws -> FileRequest {
        var request = bench.request { $0.url = url }
        let lookedUp: LookedUp = try #require(bench.cache.blocking.lookUp([request])[0].lookedUp)
        request.lookedUp = lookedUp
        return request
    }

    @Test func `hits and misses come in the order of the requests`() async throws {
        let bench = try bench()
        _ = try await bench.get(.file)
        let urls = ["http://origin.example/b", Bench.url, "http://origin.example/c?d", "http://origin.example/e"]
        let outcomes = bench.cache.blocking.lookUp(urls.map { url in bench.request { $0.url = url } })
        #expect(outcomes.map { $0.file != nil } == [false, true, false, false])
        #expect(outcomes.map { $0.lookedUp != nil } == [true, false, false, true])
    }

    @Test func `a response that was stored after the look-up is served without a request`() async throws {
        let bench = try bench()
        let request = try missed(bench)
        _ = try await bench.get(.file)
        let outcome = try await bench.get(.file, request)
        #expect(outcome.status.hit && outcome.body == Body(Self.bytes))
        #expect(bench.sent.count == 1)
    }

    @Test func `a response that another cache on the directory stored after the look-up is served without a request`()
        async throws
    {
        let bench = try bench()
        let request = try missed(bench)
        let representation = ScriptedRepresentation(Self.bytes)
        let other = try Bench(in: bench.directory) { representation.response(to: $0) }
        _ = try await other.get(.file)
        #expect(try await bench.get(.file, request).status.hit)
        #expect(bench.sent.isEmpty)
    }

    @Test func `a stale response that the look-up found is confirmed`() async throws {
        let bench = try bench([.cacheControl: "max-age=0"])
        _ = try await bench.get(.file)
        let outcome = try await bench.get(.file, try missed(bench))
        #expect(outcome.body == Body(Self.bytes))
        #expect(bench.transport.requests.last?.fields[.ifNoneMatch] == "\"1\"")
    }

    @Test func `a stale response that was removed after the look-up is fetched instead of confirmed`() async throws {
        let bench = try bench([.cacheControl: "max-age=0"])
        _ = try await bench.get(.file)
        let request = try missed(bench)
        #expect(try bench.cache.blocking.remove(bench.request()).entries == 1)
        #expect(try await bench.get(.file, request).body == Body(Self.bytes))
        #expect(bench.transport.requests.last?.fields[.ifNoneMatch] == nil)
    }

    @Test func `a fetch looks up again if an equivalent URL has a response`() async throws {
        let bench = try bench([.cacheControl: "max-age=60", HTTPField.Name("No-Vary-Search")!: "params"])
        _ = try await bench.get(.file) { $0.url = Bench.url + "?utm=1" }
        let outcome = bench.cache.blocking.lookUp([bench.request()])[0]
        #expect(outcome.file == nil && outcome.lookedUp == nil)
        #expect(try await bench.get(.file).status.hit)
        #expect(bench.sent.count == 1)
    }
}
