import CacheTestSupport
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Cancellation by some of the consumers, and its effect on the others.
@Suite(.timeLimit) struct CancellationTests {
    static let consumers = [Bench.Consumer.file, .proxied]
    static let pairs = consumers.flatMap { first in consumers.map { (first, $0) } }
    private let gate = AsyncGate()
    /// More than is loaded to its end without readers.
    private static let bytes = ScriptedRepresentation.bytes(4_300_000)
    private let representation = ScriptedRepresentation(bytes)

    private func bench(beforeHead: Bool = false) throws -> Bench {
        try Bench { [gate, representation] request in
            let response = representation.response(to: request)
            return beforeHead ? response.after(gate) : response.pausing(after: 300_000, for: gate)
        }
    }

    @Test(arguments: consumers, [true, false])
    func `a transfer ends when its last waiter is cancelled`(_ consumer: Bench.Consumer, _ beforeHead: Bool)
        async throws
    {
        let bench = try bench(beforeHead: beforeHead)
        let task = Task { await bench.failure(consumer) }
        await gate.reached()
        task.cancel()
        #expect(await task.value == .cancelled)
        await bench.transport.requests { $0.first?.ending != nil }
        #expect(bench.transport.requests.first?.ending == .failed(.cancelled))
    }

    @Test(arguments: pairs)
    func `a cancelled subscriber does not cancel the others`(_ pair: (Bench.Consumer, Bench.Consumer)) async throws {
        let bench = try bench()
        let leaving = Task { await bench.failure(pair.0) }
        await gate.reached()
        async let staying = bench.get(pair.1)
        // Both have the same transfer, or the second waits for the first one's end.
        let follower = try await bench.cache.forward(bench.request())
        leaving.cancel()
        #expect(await leaving.value == .cancelled)
        gate.open()
        #expect(try await staying.body == representation.content)
        #expect(try await Bench.body(of: follower) == representation.content)
        #expect(bench.sent.count == 1)
    }

    @Test(arguments: consumers)
    func `bytes received before a cancellation are resumed the next time`(_ consumer: Bench.Consumer) async throws {
        let bench = try bench()
        let task = Task { await bench.failure(consumer) }
        await gate.reached()
        task.cancel()
        _ = await task.value
        await bench.transport.requests { $0.first?.ending != nil }
        gate.open()
        #expect(try await bench.get(.file).body == representation.content)
        #expect(bench.transport.requests.last?.fields[.range] == "bytes=300000-")
    }

    @Test(arguments: consumers)
    func `cancelAll stops every load`(_ consumer: Bench.Consumer) async throws {
        let bench = try bench()
        let task = Task { await bench.failure(consumer) }
        await gate.reached()
        #expect(bench.cache.running.map(\.url) == [Bench.url])
        bench.cache.cancelAll()
        #expect(await task.value == .cancelled)
        #expect(bench.cache.running.isEmpty)
    }

    @Test func `the loads of one URL can be stopped`() async throws {
        let bench = try bench()
        let task = Task { await bench.failure(.file) }
        await gate.reached()
        bench.cache.cancel("http://origin.example/other")
        #expect(bench.transport.requests.first?.ending == nil)
        bench.cache.cancel(Bench.url)
        #expect(await task.value == .cancelled)
    }

    @Test(arguments: [Bench.url, "http://ann:secret@origin.example/a", "http://bob@origin.example/a"])
    func `the load of a URL that names a user is shown without the user, and can be stopped`(
        _ url: String
    ) async throws {
        let bench = try bench()
        let task = Task { try await bench.cache.file(for: "http://ann:secret@origin.example/a") }
        await gate.reached()
        #expect(bench.cache.running.map(\.url) == [Bench.url])
        bench.cache.cancel(url)
        let error = await #expect(throws: ImageCacheError.self) { try await task.value }
        #expect(error?.code == .cancelled && error?.url == Bench.url)
    }

    @Test(arguments: [1, 2], [nil, Bench.url])
    func `reads of ranges are listed and stopped like other loads, and their blocks are kept`(
        _ waiting: Int, _ url: String?
    ) async throws {
        let (gate, block) = (gate, 262_144)
        let representation = ScriptedRepresentation(ScriptedRepresentation.bytes(40 * block))
        let bench = try Bench { request in
            let response = representation.response(to: request)
            return request.number == waiting ? response.after(gate) : response
        }
        func content(_ range: Range<Int>) -> Data { Data(representation.bytes[range]) }
        let file = bench.cache.remoteFile(for: Bench.url)
        if waiting == 2 { #expect(try await file.read(at: 0, count: 10) == content(0..<10)) }
        let task = Task { try await file.read(at: Int64(20 * block), count: 10) }
        await gate.reached()
        #expect(await eventually { bench.cache.running.map(\.url) == [Bench.url] })
        #expect(bench.cache.running.allSatisfy { $0.progress.total == nil })
        if let url { bench.cache.cancel(url) } else { bench.cache.cancelAll() }
        let error = await #expect(throws: ImageCacheError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(await eventually { bench.cache.running.isEmpty })
        gate.open()
        let sent = bench.sent.count
        #expect(try await file.read(at: 5, count: 10) == content(5..<15))
        #expect(bench.sent.count == sent + (waiting == 2 ? 0 : 1))
        #expect(try await file.read(at: Int64(20 * block), count: 10) == content(20 * block..<20 * block + 10))
    }

    @Test func `a download that is released is stopped`() async throws {
        let bench = try bench()
        var download: Download? = bench.cache.download(bench.request())
        await gate.reached()
        #expect(download != nil)
        download = nil
        await bench.transport.requests { $0.first?.ending != nil }
        #expect(bench.transport.requests.first?.ending == .failed(.cancelled))
    }

    @Test func `a large body without a reader is stopped`() async throws {
        let bench = try bench()
        var answer: ForwardedResponse? = try await bench.cache.forward(bench.request())
        await gate.reached()
        #expect(answer?.head.status == .ok)
        answer = nil
        await bench.transport.requests { $0.first?.ending != nil }
        #expect(bench.transport.requests.first?.ending == .failed(.cancelled))
    }

    @Test func `a small body is loaded to its end without a reader`() async throws {
        let bench = try Bench { [gate] request in
            ScriptedRepresentation(ScriptedRepresentation.bytes(1000)).response(to: request)
                .pausing(after: 10, for: gate)
        }
        _ = try await bench.cache.forward(bench.request())
        gate.open()
        await bench.transport.requests { $0.first?.ending != nil }
        #expect(bench.transport.requests.first?.ending == .finished)
    }

    @Test func `a response that bypasses the store ends with its reader`() async throws {
        let bench = try Bench { [gate] request in
            ScriptedResponse(.ok, [.cacheControl: "no-store"], body: ScriptedRepresentation.bytes(1000))
                .pausing(after: 10, for: gate)
        }
        var answer: ForwardedResponse? = try await bench.cache.forward(bench.request())
        await gate.reached()
        #expect(answer?.body != nil)
        answer = nil
        await bench.transport.requests { $0.first?.ending != nil }
        #expect(bench.transport.requests.first?.ending == .failed(.cancelled))
    }

    @Test func `closing the cache ends all loads`() async throws {
        let bench = try bench()
        let tasks = Self.consumers.map { consumer in Task { await bench.failure(consumer) } }
        await gate.reached()
        await bench.cache.close()
        for task in tasks { #expect(await task.value == .cancelled) }
    }
}
