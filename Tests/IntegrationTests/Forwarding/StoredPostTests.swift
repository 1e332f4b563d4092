import CacheTestSupport
import Foundation
import ImageCache
import TestSupport
import Testing

/// A POST's response for later GETs: RFC 9110 section 9.3.3.
@Suite(.timeLimit) struct StoredPostTests: ForwardingSuite {
    let proxy: ProxyCache

    init() throws { proxy = try ProxyCache() }

    /// Answers GET and POST with different pages.
    private func origin(_ fields: [(name: String, value: String)]) throws -> ScriptedOrigin {
        try ScriptedOrigin(behaviour: { request in
            var behaviour = Behaviour(
                Representation(seed: request.method == "POST" ? 2 : 1, size: 400_000, cacheControl: nil))
            behaviour.fields = fields.map { ($0.name, $0.value == "self" ? request.path : $0.value) }
            return behaviour
        })
    }

    private func page(_ origin: ScriptedOrigin, _ method: HTTPRequest.Method) async throws -> (
        bytes: [UInt8], how: String
    ) {
        let body: [UInt8]? = method == .post ? Array("a=1".utf8) : nil
        let answer = try await cache.forward(request(origin.url("/a"), method, body: body))
        return (try await answer.bytes(), status(of: answer))
    }

    @Test func `a POST's response with explicit freshness and its own Content-Location answers a GET`() async throws {
        let origin = try origin([("Content-Location", "self"), ("Cache-Control", "max-age=60")])
        let before = try await page(origin, .get)
        let posted = try await page(origin, .post)
        #expect(posted.how.contains("stored") && posted.bytes != before.bytes)
        let after = try await page(origin, .get)
        #expect(after.how.contains("hit") && after.bytes == posted.bytes)
        #expect(origin.requests.map(\.request.method) == ["GET", "POST"])
        // Another POST is written through.
        _ = try await page(origin, .post)
        #expect(origin.requests.count == 3)
    }

    @Test(arguments: [
        [("Content-Location", "/other"), ("Cache-Control", "max-age=60")], [("Cache-Control", "max-age=60")],
        [("Content-Location", "self")], [("Content-Location", "self"), ("Cache-Control", "no-store, max-age=60")],
    ])
    func `any other POST's response is passed on and not reused`(fields: [(String, String)]) async throws {
        let origin = try origin(fields.map { (name: $0.0, value: $0.1) })
        let posted = try await page(origin, .post)
        #expect(posted.bytes.count == 400_000 && !posted.how.contains("stored"))
        #expect(try await page(origin, .get).bytes != posted.bytes)
        #expect(origin.requests.count == 2)
    }
}
