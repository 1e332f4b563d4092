import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// Another process is stopped in a transaction of the store's index.
@Suite(.fewAtATime) struct BusyStoreTests: ForwardingSuite {
    let proxy: ProxyCache

    init() throws { proxy = try ProxyCache(busyTimeout: .seconds(2 * patience)) }

    @Test func `a body that waits for the index does not hold up one that is passed on`() async throws {
        let large = Representation(seed: 72, size: 2_000_000)
        let passed = Representation(seed: 73, size: 3_000_000)
        let gate = Gate()
        let origin = try ScriptedOrigin { request in
            if request.path == "/large" { return Behaviour(large) }
            return Behaviour(passed).with {
                $0.fields = [("Cache-Control", "no-store")]
                $0.bodyGate = (100_000, gate)
            }
        }
        let received = Locked<[UInt8]>([])
        let response = try await cache.forward(request(origin.url("/passed")))
        let reading = Task {
            guard let body = response.body else { return }
            for try await piece in body {
                let bytes = try piece.bytes()
                received.withLock { $0 += bytes }
            }
        }
        #expect(await eventually { received.withLock { $0.count } == 100_000 })
        let transaction = try OpenTransaction(in: directory.path("cache"))
        let hasEnded = Locked(false)
        let stored = Task {
            let bytes = try await cache.forward(request(origin.url("/large"))).bytes()
            hasEnded.withLock { $0 = true }
            return bytes
        }
        // The origin waits: all that may wait for the store does.
        #expect(await origin.waits { $0.contains { $0.request.path == "/large" && $0.bodyBytesSent > 1_000_000 } })
        gate.open()
        #expect(await eventually(within: patience / 6) { received.withLock { $0.count } == 3_000_000 })
        #expect(!hasEnded.withLock { $0 })
        transaction.end()
        #expect(try await stored.value == large.content.bytes())
        try await reading.value
        #expect(received.withLock { $0 == passed.content.bytes() })
    }
}
