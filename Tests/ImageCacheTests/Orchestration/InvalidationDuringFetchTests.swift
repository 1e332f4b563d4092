import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Invalidations apply to running operations.
@Suite(.timeLimit) struct InvalidationDuringFetchTests {
    enum Invalidation: Sendable, CaseIterable {
        case remove, purge, clear, unsafeMethod, otherCache

        func perform(on bench: Bench) async throws {
            let request = bench.request()
            switch self {
            case .remove: _ = try await bench.cache.remove(request)
            case .purge: _ = try await bench.cache.remove(.url(Bench.url))
            case .clear: try await bench.cache.clear()
            case .unsafeMethod:
                let answer = try await bench.cache.forward(bench.request { $0.method = .post })
                _ = try await Bench.body(of: answer)
            case .otherCache:
                let other = try Bench(in: bench.directory) { _ in .failure() }
                _ = try await other.cache.remove(request)
            }
        }
    }

    static let consumers = [Bench.Consumer.file, .proxied]
    private let gate = AsyncGate()
    private let older = ScriptedRepresentation([1], etag: "\"1\"")
    private let newer = ScriptedRepresentation([2, 2], etag: "\"2\"")

    private func bench(beforeHead: Bool) throws -> Bench {
        try Bench { [gate, older, newer] request in
            if request.method == .post { return ScriptedResponse(.noContent, steps: [], length: nil) }
            guard request.number == 1 else { return newer.response(to: request) }
            let response = older.response(to: request)
            return beforeHead ? response.after(gate) : response.pausing(after: 0, for: gate)
        }
    }

    @Test(arguments: Invalidation.allCases, consumers)
    func `a fetch from before an invalidation is delivered but not stored`(
        _ invalidation: Invalidation, _ consumer: Bench.Consumer
    ) async throws {
        let bench = try bench(beforeHead: false)
        async let before = bench.get(consumer)
        await gate.reached()
        try await invalidation.perform(on: bench)
        gate.open()
        #expect(try await before.body == older.content)
        for next in Self.consumers { #expect(try await bench.get(next).body == newer.content) }
    }

    @Test(arguments: Invalidation.allCases, consumers)
    func `a request after an invalidation does not join an earlier fetch`(
        _ invalidation: Invalidation, _ consumer: Bench.Consumer
    )
        async throws
    {
        let bench = try bench(beforeHead: false)
        let first = Task { try await bench.get(.proxied) }
        await gate.reached()
        try await invalidation.perform(on: bench)
        let later = Task { try await bench.get(consumer) }
        if consumer == .proxied { #expect(try await later.value.body == newer.content) }
        gate.open()
        #expect(try await first.value.body == older.content)
        #expect(try await later.value.body == newer.content)
    }

    @Test(arguments: [Invalidation.remove, .purge, .clear, .otherCache])
    func `a file that must be stored is revalidated after an invalidation`(_ invalidation: Invalidation) async throws {
        let bench = try Bench { [gate, older] request in
            let response = older.response(to: request)
            return request.number == 1 ? response.pausing(after: 0, for: gate) : response
        }
        async let file = bench.get(.file) { $0.noStoreBehavior = .fail }
        await gate.reached()
        try await invalidation.perform(on: bench)
        gate.open()
        #expect(try await file.body == older.content)
        #expect(bench.sent.count == 2 && bench.transport.totals.bytesReceived <= 2)
        #expect(try await bench.cache.entries().count == 1)
    }

    @Test func `the bytes of a body that is sent again after an invalidation count`() async throws {
        let bench = try Bench { [gate] request in
            let response = ScriptedRepresentation([1], etag: nil).response(to: request)
            return request.number == 1 ? response.pausing(after: 0, for: gate) : response
        }
        let fetch = Task { try await bench.cache.file(for: bench.request { $0.noStoreBehavior = .fail }) }
        await gate.reached()
        _ = try await bench.cache.remove(bench.request())
        gate.open()
        #expect(try await fetch.value.bytesTransferred == 2)
    }

    @Test(arguments: Invalidation.allCases)
    func `a copy in memory is not used after an invalidation`(_ invalidation: Invalidation) async throws {
        let bench = try Bench(older)
        _ = try await bench.hotResponse()
        try await invalidation.perform(on: bench)
        #expect(bench.cache.hotResponse(for: bench.request()) == nil)
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch], [200, 204, 303, 404, 500])
    func `a successful unsafe request invalidates the stored response`(_ method: HTTPRequest.Method, _ status: Int)
        async throws
    {
        let bench = try Bench { [older] request in
            request.method == .get ? older.response(to: request) : ScriptedResponse(.init(code: status))
        }
        _ = try await bench.get(.file)
        _ = try await bench.get(.proxied) { $0.method = method }
        _ = try await bench.get(.file)
        // RFC 9111 section 4.4: 2xx and 3xx.
        #expect(bench.sent.count == (status < 400 ? 3 : 2))
    }
}
