import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// `Authorization` in a cache of several people: RFC 9111 section 3.5.
@Suite(.timeLimit) struct AuthorizedTests: ForwardingSuite {
    let proxy: ProxyCache

    init() throws { proxy = try ProxyCache() }

    private func origin(_ cacheControl: String, vary: String? = nil) throws -> ScriptedOrigin {
        var representation = Representation(seed: 1, size: 1000, cacheControl: cacheControl)
        if let vary { representation.fields = [("Vary", vary)] }
        return try ScriptedOrigin(behaviour: { [representation, clock] _ in
            var behaviour = Behaviour(representation)
            behaviour.date = clock.withLock { $0 }
            return behaviour
        })
    }

    private let clients: [HTTPFields] = [
        [.authorization: "Bearer one"], [:], [.authorization: "Bearer two"], [.authorization: "Bearer one"],
    ]

    @Test(arguments: ["public, max-age=60", "s-maxage=60", "must-revalidate, max-age=60"])
    func `a response marked as shared answers every client, whatever its credentials`(
        cacheControl: String
    ) async throws {
        let origin = try origin(cacheControl)
        for fields in clients { _ = try await cache.forward(request(origin.url(), .get, fields)).bytes() }
        #expect(origin.requests.count == 1)
        clock.withLock { $0 += 100 }
        for fields in clients { _ = try await cache.forward(request(origin.url(), .get, fields)).bytes() }
        #expect(origin.requests.count == 2 && origin.requests.last?.request["If-None-Match"] != nil)
    }

    @Test func `a response to credentials is not reused unless it is marked as shared`() async throws {
        let origin = try origin("max-age=60")
        for fields in clients { _ = try await cache.forward(request(origin.url(), .get, fields)).bytes() }
        // The second client's may be stored, and is not for those with credentials.
        #expect(origin.requests.count == 4)
        _ = try await cache.forward(request(origin.url())).bytes()
        #expect(origin.requests.count == 4)
    }

    @Test func `credentials select the variant if Vary names them`() async throws {
        let origin = try origin("public, max-age=60", vary: "Authorization")
        for fields in clients { _ = try await cache.forward(request(origin.url(), .get, fields)).bytes() }
        #expect(origin.requests.count == 3)
    }
}
