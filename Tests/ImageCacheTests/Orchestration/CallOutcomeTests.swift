import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import ImageCacheTesting
import TestSupport
import Testing

@testable import ImageCache

/// The ends of calls: errors with their URL, progress, and what those who join another's transfer receive.
@Suite(.timeLimit) struct CallOutcomeTests {
    /// A call that asks an origin.
    struct Call: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (DownloadCache, FileRequest) async throws -> Void

        init(_ name: String, _ make: @escaping @Sendable (DownloadCache, FileRequest) async throws -> Void) {
            testDescription = name
            self.make = make
        }
    }

    static let calls = [
        Call("file") { _ = try await $0.file(for: $1) },
        Call("download") { _ = try await $0.download($1).file },
        Call("response") { _ = try await $0.response(for: $1) },
        Call("head") { cache, request in
            var request = request
            request.method = .head
            _ = try await cache.response(for: request)
        },
        Call("image") { _ = try await $0.image(for: ImageRequest($1, .fit(8, 8))) },
        Call("thumbnail") { _ = try await $0.thumbnail(for: ImageRequest($1, .fit(8, 8))) },
        Call("animation") { _ = try await $0.animation(for: ImageRequest($1, .fit(8, 8))) },
        Call("info") { _ = try await $0.info(for: ImageRequest($1)) },
        Call("image task") { _ = try await $0.imageTask(for: ImageRequest($1, .fit(8, 8))).image },
        Call("data") { _ = try await $0.data(for: $1) },
        Call("text") { _ = try await $0.text(for: $1) },
        Call("forward") { _ = try await Bench.body(of: try await $0.forward($1)) },
        Call("forwarded HEAD") { cache, request in
            var request = request
            request.method = .head
            _ = try await cache.forward(request)
        },
        Call("forwarded POST") { cache, request in
            var request = request
            request.method = .post
            _ = try await cache.forward(request)
        },
        Call("cachedThenFresh") { for try await _ in $0.cachedThenFresh(for: $1) {} },
        Call("files") { _ = try await $0.files(for: [$1]).files() },
    ]

    /// A stream, which ends without an error when its reader is cancelled.
    static let previews = Call("previews") { for try await _ in $0.previews(for: ImageRequest($1, .fit(8, 8))) {} }

    private func request(_ change: (inout FileRequest) -> Void = { _ in }) -> FileRequest {
        var request = FileRequest("http://me:secret@origin.example/a")
        change(&request)
        return request
    }

    // MARK: Cancellation

    @Test(arguments: calls + [previews])
    func `a call in an already cancelled task starts no transport`(_ call: Call) async throws {
        let bench = try Bench { _ in ScriptedResponse(.ok, body: [1]) }
        let request = request()
        for _ in 0..<20 {
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await call.make(bench.cache, request)
            }
            _ = await task.result
        }
        #expect(await eventually { bench.cache.running.isEmpty })
        // Ends what runs.
        await bench.cache.close()
        #expect(bench.transport.requests.isEmpty)
    }

    @Test(arguments: calls)
    func `the error of a cancelled call has its URL, without the password`(_ call: Call) async throws {
        let gate = AsyncGate()
        let bench = try Bench { _ in ScriptedResponse(.ok, body: [1]).after(gate) }
        let request = request()
        let task = Task { try await call.make(bench.cache, request) }
        await gate.reached()
        task.cancel()
        let error = await #expect(throws: ImageCacheError.self) { try await task.value }
        #expect(error?.code == .cancelled && error?.url == Bench.url, "\(error as Any)")
        gate.open()
    }

    @Test(arguments: calls)
    func `the error of a call that closing the cache interrupts has its URL`(_ call: Call) async throws {
        let gate = AsyncGate()
        let bench = try Bench { _ in ScriptedResponse(.ok, body: [1]).after(gate) }
        let request = request()
        let task = Task { try await call.make(bench.cache, request) }
        await gate.reached()
        await bench.cache.close()
        let error = await #expect(throws: ImageCacheError.self) { try await task.value }
        #expect(error?.code == .cancelled && error?.url == Bench.url, "\(error as Any)")
    }

    @Test func `the failures of a cancelled prefetch have their URLs`() async throws {
        let gate = AsyncGate()
        let bench = try Bench { _ in ScriptedResponse(.ok, body: [1]).after(gate) }
        let requests = (0..<3).map { FileRequest("\(Bench.url)?\($0)") }
        let prefetch = bench.cache.prefetch(requests, width: 3)
        await bench.transport.requests { $0.count == 3 }
        prefetch.cancel()
        await prefetch.finish()
        #expect(Set(prefetch.failures.map(\.error.url)) == Set(requests.map(\.url)))
        gate.open()
    }

    @Test func `a call that was already cancelled does not cancel another`() async throws {
        let gate = AsyncGate()
        let bench = try Bench { ScriptedRepresentation([1]).response(to: $0).after(gate) }
        let other = bench.cache.download(bench.request())
        await gate.reached()
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try? await bench.cache.file(for: bench.request())
        }.value
        gate.open()
        #expect(try await Bench.body(of: other.file) == [1])
        #expect(bench.sent.count == 1)
    }

    // MARK: Progress

    private func last(_ download: Download) async -> DownloadProgress? {
        var last: DownloadProgress?
        for await progress in download.progress { last = progress }
        return last
    }

    @Test func `progress ends as finished with all bytes, from the origin and from the store`() async throws {
        let representation = ScriptedRepresentation(ScriptedRepresentation.bytes(400_000))
        let bench = try Bench(representation)
        for source in [CachedFile.Source.network, .disk, .revalidated] {
            if source == .revalidated { bench.advance(seconds: 100) }
            let download = bench.cache.download(bench.request())
            let last = try #require(await last(download))
            #expect(try await download.file.source == source)
            #expect(last.phase == .finished && last.received == 400_000 && last.total == 400_000)
            #expect(download.latestProgress == last)
        }
    }

    @Test func `progress of a body without a declared length ends with its length`() async throws {
        let bench = try Bench { _ in ScriptedResponse(.ok, steps: [.bytes([1, 2, 3])], length: nil) }
        let last = await last(bench.cache.download(bench.request()))
        #expect(last?.phase == .finished && last?.received == 3 && last?.total == 3)
    }

    @Test func `progress of a download that fails ends, and never says that it was finished`() async throws {
        let bench = try Bench { _ in ScriptedResponse(.notFound) }
        let download = bench.cache.download(bench.request())
        #expect(await last(download)?.phase != .finished)
        await #expect(throws: ImageCacheError.self) { try await download.file }
    }

    @Test func `progress of an image's original ends as finished`() async throws {
        let bench = try Bench(ScriptedRepresentation(try Bench.picture()))
        let task = bench.cache.imageTask(for: Bench.url, resizedTo: .fit(8, 8))
        var last: DownloadProgress?
        for await progress in task.progress { last = progress }
        _ = try await task.image
        #expect(last?.phase == .finished)
    }

    // MARK: Joining

    @Test(arguments: [false, true])
    func `all listeners of a shared transfer receive its mirror events`(_ joinsLate: Bool) async throws {
        let gate = AsyncGate()
        let mirror = "http://mirror.example/a"
        let bench = try Bench { request in
            request.url == mirror ? ScriptedRepresentation([1]).response(to: request).after(gate) : .failure(.connect)
        }
        let events = Locked([Int](repeating: 0, count: 3))
        func download(_ number: Int) -> Download {
            bench.cache.download(
                bench.request {
                    $0.mirrors = [Mirror(mirror)]
                    $0.transfer.retry.maxRetries = 0
                    $0.mirrorEvents = { _ in events.withLock { $0[number] += 1 } }
                })
        }
        var downloads = [download(0)]
        if joinsLate { await gate.reached() }
        downloads += [download(1), download(2)]
        gate.open()
        for download in downloads { _ = try await download.file }
        #expect(bench.transport.requests.count == 2)
        #expect(events.withLock { $0[0] > 0 && $0[1] == $0[0] && $0[2] == $0[0] })
    }

    @Test func `a late listener receives earlier events once`() {
        let listeners = Listeners<Int>()
        let received = Locked<[[Int]]>([[], []])
        listeners.notify(1)
        #expect(listeners.isEmpty)
        listeners.add(nil)
        #expect(listeners.isEmpty)
        listeners.add { event in received.withLock { $0[0].append(event) } }
        listeners.notify(2)
        listeners.add { event in received.withLock { $0[1].append(event) } }
        listeners.notify(3)
        #expect(received.withLock { $0 } == [[1, 2, 3], [1, 2, 3]])
    }
}
