import CacheTestSupport
import Foundation
import ImageCache
import TestSupport
import Testing

/// A body that was cut, whose rest no longer fits into the store.
@Suite(.timeLimit) struct NoRoomForRestTests: ForwardingSuite {
    let proxy: ProxyCache

    init() throws { proxy = try ProxyCache() }

    @Test func `a client gets the whole body, not the rest that the origin sent`() async throws {
        let representation = Representation(seed: 74, size: 3_000_000)
        let origin = try ScriptedOrigin { request in
            Behaviour(representation).with { if request.number == 1 { $0.cutAfter = 1_000_000 } }
        }
        var request = request(origin.url())
        request.transfer.retry.maxRetries = 0
        let cut = try await cache.forward(request)
        await #expect(throws: ImageCacheError.self) { try await cut.bytes() }

        let smaller = try ProxyCache(in: directory, capacity: 2 << 20)
        let answer = try await smaller.cache.forward(request)
        #expect(answer.head.status == .ok)
        #expect(try await answer.bytes() == representation.content.bytes())
        #expect(origin.requests.map { $0["range"] != nil } == [false, true, false])
    }
}
