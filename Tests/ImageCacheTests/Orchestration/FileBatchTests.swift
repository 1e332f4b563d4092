import CacheTestSupport
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Several files with one progress.
@Suite(.timeLimit)
struct FileBatchTests {
    private static func requests(_ count: Int) -> [FileRequest] {
        (0..<count).map { number in
            var request = FileRequest("http://origin.example/\(number)")
            request.transfer.retry.maxRetries = 0
            return request
        }
    }

    private func bench(failing: Set<String> = []) throws -> Bench {
        try Bench(script: { request in
            if failing.contains(request.path) { return ScriptedResponse(.notFound) }
            let size = 1000 + (Int(request.path.dropFirst()) ?? 0)
            return ScriptedRepresentation(ScriptedRepresentation.bytes(size)).response(to: request)
        })
    }

    @Test func `all files come in the order of their requests, and their progress ends with all bytes`() async throws {
        let bench = try bench()
        let batch = bench.cache.files(for: Self.requests(20), width: 3)
        let files = try await batch.files()
        #expect(files.map(\.size) == Array(Int64(1000)..<1020))
        let sum = files.reduce(0) { $0 + $1.size }
        let end = batch.latestProgress
        #expect(end.requested == 20 && end.loaded == 20 && end.failed == 0)
        #expect(end.received == sum && end.total == sum)
        var last: BatchProgress?
        for await progress in batch.progress { last = progress }
        #expect(last == end)
    }

    @Test func `one failing request does not fail the others`() async throws {
        let bench = try bench(failing: ["/3"])
        let batch = bench.cache.files(for: Self.requests(6))
        let results = await batch.results()
        #expect(results.map { (try? $0.get()) != nil } == [true, true, true, false, true, true])
        let sum = results.reduce(0) { $0 + ((try? $1.get().size) ?? 0) }
        let end = batch.latestProgress
        #expect(end.failed == 1 && end.loaded == 5)
        #expect(end.received == sum && end.total == sum)
        await #expect(throws: ImageCacheError.self) { try await batch.files() }
    }

    @Test func `the first failure stops an all-or-nothing batch`() async throws {
        let bench = try bench(failing: ["/1"])
        let batch = bench.cache.files(for: Self.requests(50), width: 1, allOrNothing: true)
        do {
            _ = try await batch.files()
            Issue.record("all came")
        } catch {
            #expect(error.code == .status(404))
        }
        #expect(bench.sent.count < 10)
    }

    @Test(arguments: [false, true])
    func `stored files come without being fetched, and count in the progress`(_ isStale: Bool) async throws {
        let bench = try bench()
        _ = try await bench.cache.files(for: Self.requests(100)).files()
        if isStale { bench.advance(seconds: 3600) }
        let batch = bench.cache.files(for: Self.requests(150))
        let sum = try await batch.files().reduce(0) { $0 + $1.size }
        #expect(bench.sent.count == (isStale ? 250 : 150))
        let confirmed = bench.transport.requests.filter { $0.fields[.ifNoneMatch] != nil }
        #expect(confirmed.count == (isStale ? 100 : 0))
        #expect(batch.latestProgress.loaded == 150 && batch.latestProgress.received == sum)
        #expect(batch.latestProgress.total == sum)
    }

    @Test func `equal requests of a batch are loaded once`() async throws {
        let bench = try bench()
        let requests = Self.requests(3)
        let files = try await bench.cache.files(for: requests + requests + requests, width: 2).files()
        #expect(files.map(\.size) == [1000, 1001, 1002, 1000, 1001, 1002, 1000, 1001, 1002])
        #expect(bench.sent.count == 3)
    }

    @Test func `a prefetch of stored files sends no request`() async throws {
        let bench = try bench()
        _ = try await bench.cache.files(for: Self.requests(70)).files()
        let prefetch = bench.cache.prefetch(Self.requests(80))
        await prefetch.finish()
        #expect(prefetch.counts.loaded == 80 && prefetch.counts.failed == 0)
        #expect(bench.sent.count == 80)
    }

    @Test func `a prefetch that is released during its pause ends, and starts no further request`() async throws {
        let gate = AsyncGate()
        let bench = try Bench(script: { _ in ScriptedResponse(.ok, body: [1]).after(gate) })
        var prefetch: Prefetch? = bench.cache.prefetch(Self.requests(5), width: 2)
        await bench.transport.requests { $0.count == 2 }
        prefetch?.pause()
        weak var released: Prefetch?
        released = prefetch
        prefetch = nil
        #expect(released == nil)
        gate.open()
        await bench.transport.requests { $0.allSatisfy { $0.ending != nil } }
        #expect(await eventually { bench.cache.running.isEmpty })
        #expect(bench.sent.count == 2)
    }

    @Test(arguments: [Int.min, 0, .max])
    func `batches and prefetches of any width end`(_ width: Int) async throws {
        let bench = try bench()
        #expect(try await bench.cache.files(for: Self.requests(3), width: width).files().count == 3)
        let prefetch = bench.cache.prefetch(Self.requests(5), width: width)
        await prefetch.finish()
        #expect(prefetch.counts.loaded == 5 && prefetch.counts.failed == 0)
        #expect(bench.sent.count == 5)
    }

    @Test func `files of lengths whose sum has no number fail, and nothing else happens`() async throws {
        let bench = try Bench(script: { _ in
            ScriptedResponse(.ok, [.cacheControl: "no-store"], steps: [], length: 9_000_000_000_000_000_000)
        })
        let batch = bench.cache.files(for: Self.requests(20))
        #expect(await batch.results().allSatisfy { (try? $0.get()) == nil })
    }

    @Test func `a batch without requests is over at once`() async throws {
        let bench = try bench()
        #expect(try await bench.cache.files(for: []).files().isEmpty)
    }

    @Test(arguments: [false, true])
    func `a batch is cancelled with the task that waits for it`(_ allOrNothing: Bool) async throws {
        let gate = AsyncGate()
        let bench = try Bench(script: { _ in ScriptedResponse(body: [1]).after(gate) })
        let batch = bench.cache.files(for: Self.requests(5), width: 2, allOrNothing: allOrNothing)
        let task = Task { try await batch.files() }
        await bench.transport.requests { $0.count == 2 }
        task.cancel()
        let error = await #expect(throws: ImageCacheError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(await batch.results().allSatisfy { (try? $0.get()) == nil })
        gate.open()
        #expect(bench.sent.count == 2)
    }

    @Test func `a cancelled batch reports its unloaded files as cancelled`() async throws {
        let gate = AsyncGate()
        let bench = try Bench(script: { _ in ScriptedResponse(body: [1]).after(gate) })
        let batch = bench.cache.files(for: Self.requests(5), width: 2)
        await bench.transport.requests { $0.count == 2 }
        batch.cancel()
        let results = await batch.results()
        #expect(results.count == 5)
        for (number, result) in results.enumerated() {
            guard case .failure(let error) = result else { continue }
            #expect(error.code == .cancelled && error.url == "http://origin.example/\(number)")
        }
        gate.open()
    }
}
