import CacheTestSupport
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// One URL that redirects, requested with and without following it.
@Suite(.timeLimit) struct RedirectTests {
    private let representation = ScriptedRepresentation(ScriptedRepresentation.bytes(1000))

    /// `/a` redirects to `/b`; both may be stored.
    private func bench(_ mode: CacheMode = .shared, _ directives: String = "max-age=60") throws -> Bench {
        try Bench(mode) { [representation] request in
            guard request.path == "/a" else { return representation.response(to: request) }
            var response = ScriptedResponse.redirect(to: "/b")
            response.fields[.cacheControl] = directives
            return response
        }
    }

    @Test(arguments: [CacheMode.private, .shared])
    func `a client of a proxy gets the redirect, also after a file was fetched through it`(_ mode: CacheMode)
        async throws
    {
        let bench = try bench(mode)
        #expect(try await bench.get(.proxied).code == 302)
        #expect(try await bench.get(.file).body == representation.content)
        #expect(try await bench.get(.proxied).code == 302)
        #expect(try await bench.get(.proxied) { $0.method = .head }.code == 302)
        #expect(try await bench.get(.proxied) { $0.fields[.range] = "bytes=0-9" }.code == 302)
        #expect(bench.cache.hotResponse(for: ForwardRequest(bench.request()))?.head.status.code ?? 302 == 302)
        #expect(try await bench.get(.file).body == representation.content)
        #expect(try await bench.get(.file) { $0.policy = .returnCacheDataDontLoad }.body == representation.content)
    }

    @Test(arguments: ["private", "private, max-age=60", "max-age=60, private"])
    func `a response behind a private redirect is not stored for others`(_ directives: String) async throws {
        let bench = try bench(.shared, directives)
        for _ in 0..<2 { #expect(try await bench.get(.file).body == representation.content) }
        #expect(bench.sent.count == 4)
        await #expect(throws: ImageCacheError.self) {
            try await bench.get(.file) { $0.policy = .returnCacheDataDontLoad }
        }
        let own = try self.bench(.private, "private, max-age=60")
        for _ in 0..<2 { #expect(try await own.get(.file).body == representation.content) }
        #expect(own.sent.count == 2)
    }

    @Test(arguments: [Bench.Consumer.file, .answer])
    func `a Host that differs from the URL's is refused`(_ consumer: Bench.Consumer) async throws {
        let bench = try bench()
        let host = try #require(HTTPField.Name("host"))
        let error = await #expect(throws: ImageCacheError.self) {
            try await bench.get(consumer) { $0.fields[host] = "other.example" }
        }
        #expect(error?.code == .invalidRequest && bench.sent.isEmpty)
    }

    @Test(arguments: [Int64.max, Int64.max - 1, 1 << 62, 1 << 50, 1 << 45] as [Int64])
    func `a range of a body that claims to be longer than any file is answered without blocks`(_ total: Int64)
        async throws
    {
        let part = Array(ScriptedRepresentation.bytes(1 << 18))
        let bench = try Bench(.shared) { request in
            ScriptedResponse(
                request.fields.contains(.range) ? .partialContent : .ok,
                [
                    .contentRange: "bytes 0-\(part.count - 1)/\(total)", .eTag: "\"1\"", .cacheControl: "max-age=60",
                ], body: part)
        }
        for _ in 0..<2 {
            _ = try? await bench.get(.proxied) { $0.fields[.range] = "bytes=0-99" }
        }
        await bench.cache.close()
    }
}
