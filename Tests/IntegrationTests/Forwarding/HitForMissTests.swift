import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// Responses for one client do not keep later ones from being stored for all.
@Suite(.fewAtATime) struct HitForMissTests: ForwardingSuite {
    let proxy: ProxyCache

    init() throws { proxy = try ProxyCache() }

    /// Responds with `private` to requests with a cookie.
    private func origin(
        _ change: @escaping @Sendable (inout Behaviour, ReceivedRequest) -> Void = { _, _ in }
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            let isOwn = request["cookie"] != nil
            var behaviour = Behaviour(
                Representation(
                    seed: isOwn ? 2 : 1, size: 400_000, cacheControl: isOwn ? "private, max-age=60" : "max-age=60"))
            change(&behaviour, request)
            return behaviour
        }
    }

    @Test func `a response for one client does not keep later ones from being stored for others`() async throws {
        let origin = try origin()
        let url = origin.url()
        let own = try await cache.forward(request(url, .get, [.cookie: "a=b"]))
        #expect(try await own.bytes() == Content(seed: 2, size: 400_000).bytes())
        let first = try await cache.forward(request(url))
        #expect(status(of: first).contains("stored"))
        #expect(try await first.bytes() == Content(seed: 1, size: 400_000).bytes())
        let second = try await cache.forward(request(url))
        #expect(status(of: second).contains("hit"))
        #expect(origin.requests.count == 2)
    }

    @Test func `clients share a storable response while it arrives, even after a private one`() async throws {
        let gate = Gate()
        let origin = try origin { behaviour, request in
            if request["cookie"] == nil { behaviour.bodyGate = (300_000, gate) }
        }
        let url = origin.url()
        _ = try await cache.forward(request(url, .get, [.cookie: "a=b"])).bytes()
        let first = try await cache.forward(request(url))
        let second = try await cache.forward(request(url))
        #expect(status(of: second).contains("collapsed"))
        gate.open()
        #expect(try await first.bytes() == Content(seed: 1, size: 400_000).bytes())
        #expect(try await second.bytes() == Content(seed: 1, size: 400_000).bytes())
        #expect(origin.requests.count == 2)
    }

    @Test func `a Set-Cookie field is passed on only to the client that caused it`() async throws {
        let number = Locked(0)
        let origin = try ScriptedOrigin(script: { request in
            let own = number.withLock { number in
                number += 1
                return number
            }
            let isForAll = request.target == "/all"
            return [
                .head(
                    status: 200,
                    fields: [
                        ("Content-Length", "2"), ("Set-Cookie", "session=\(own)"),
                        ("Cache-Control", isForAll ? "public, max-age=60" : "max-age=60"),
                    ]), .body(Array("ok".utf8)),
            ]
        })
        var cookies: [String?] = []
        for path in ["/own", "/own", "/all", "/all"] {
            let answer = try await cache.forward(request(origin.url(path)))
            cookies.append(answer.head.headerFields[.setCookie])
            _ = try await answer.bytes()
        }
        #expect(cookies == ["session=1", "session=2", "session=3", nil])
    }
}
