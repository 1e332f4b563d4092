import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// An unusual request of one client must not cause errors for other clients.
@Suite(.timeLimit) struct PoisoningTests: ForwardingSuite {
    let proxy: ProxyCache

    init() throws { proxy = try ProxyCache() }

    /// Refuses requests with the field `X-Odd`, with a storable error.
    private func origin(refusingWith status: Int) throws -> ScriptedOrigin {
        try ScriptedOrigin(behaviour: { request in
            if request["X-Odd"] != nil {
                return .status(status, fields: [("Cache-Control", "public, max-age=600")])
            }
            return Behaviour(Representation(seed: 1, size: 1000, cacheControl: "max-age=60"))
        })
    }

    /// The status of a response that is read to its end.
    private func code(_ origin: ScriptedOrigin, _ fields: HTTPFields = [:]) async throws -> Int {
        let answer = try await cache.forward(request(origin.url(), .get, fields))
        _ = try await answer.bytes()
        return answer.head.status.code
    }

    private var odd: HTTPFields {
        HTTPField.Name("X-Odd").map { [$0: "x"] } ?? [:]
    }

    @Test(arguments: [400, 401, 408, 413, 414, 431, 499])
    func `a refusal of one request is given to that client alone`(status: Int) async throws {
        let origin = try origin(refusingWith: status)
        #expect(try await code(origin, odd) == status)
        #expect(try await code(origin) == 200)
        var forced = odd
        forced[.cacheControl] = "no-cache"
        #expect(try await code(origin, forced) == status)
        let after = try await cache.forward(request(origin.url()))
        #expect(after.head.status == .ok && self.status(of: after).contains("hit"))
    }

    @Test(arguments: [403, 405, 500, 501, 503])
    func `an error that one client brings about does not take the place of a stored file`(status: Int) async throws {
        let origin = try origin(refusingWith: status)
        _ = try await cache.forward(request(origin.url())).bytes()
        var forced = odd
        forced[.cacheControl] = "no-cache"
        let error = try await cache.forward(request(origin.url(), .get, forced))
        #expect(error.head.status.code == status)
        _ = try await error.bytes()
        let after = try await cache.forward(request(origin.url()))
        #expect(after.head.status == .ok && self.status(of: after).contains("hit"))
        // When it is stale, it is validated or fetched again, and not dropped.
        clock.withLock { $0 += 100 }
        #expect(try await cache.forward(request(origin.url())).head.status == .ok)
    }

    @Test func `a response to a cookie is not shared without explicit freshness`() async throws {
        let origin = try ScriptedOrigin(behaviour: { request in
            let old = Date(timeIntervalSince1970: 1_600_000_000)
            return Behaviour(
                Representation(seed: UInt64(request.number), size: 1000, lastModified: old, cacheControl: nil))
        })
        let session = try await cache.forward(request(origin.url(), .get, [.cookie: "session=1"])).bytes()
        let other = try await cache.forward(request(origin.url())).bytes()
        #expect(session != other && origin.requests.count == 2)
    }
}
