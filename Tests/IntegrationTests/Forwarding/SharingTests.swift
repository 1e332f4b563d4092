import CacheTestSupport
import ConcurrencyPrimitives
import DiskStore
import Foundation
import ImageCache
import TestSupport
import Testing

/// One fetch with many consumers, and none whose result depends on who else asks.
@Suite(.fewAtATime) struct SharingTests: ForwardingSuite {
    let proxy: ProxyCache
    private let representation = Representation(seed: 95, size: 900_000)

    init() throws { proxy = try ProxyCache() }

    /// The first answer's body waits for the gate after 300,000 bytes.
    private func origin(
        _ gate: Gate, _ change: @escaping @Sendable (inout Behaviour, ReceivedRequest) -> Void = { _, _ in }
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { [representation] request in
            Behaviour(representation).with {
                if request.number == 1 { $0.bodyGate = (300_000, gate) }
                change(&$0, request)
            }
        }
    }

    /// Reads what there is before the gate opens, then all.
    private func expectGrowth(_ answer: ForwardedResponse, _ gate: Gate) async throws {
        var received: [UInt8] = []
        for try await piece in try #require(answer.body) {
            received += try piece.bytes()
            gate.open()
        }
        #expect(received == representation.content.bytes())
    }

    // MARK: Following (D11)

    @Test func `a proxied GET joins a running download and gets its head and growing body`()
        async throws
    {
        let gate = Gate()
        let origin = try origin(gate)
        let file = Task { [cache] in try await cache.file(for: FileRequest(origin.url("/a"))) }
        #expect(await origin.waits { $0.first?.bodyBytesSent == 300_000 })
        let answer = try await cache.forward(request(origin.url("/a")))
        #expect(status(of: answer).contains("collapsed"))
        try await expectGrowth(answer, gate)
        #expect(representation.content.equalsFile(at: try await file.value.path))
        #expect(origin.requests.count == 1)
    }

    @Test func `a proxied GET gets the growing body of a thumbnail's original, which is asked for once`() async throws {
        let gate = Gate()
        let origin = try origin(gate)
        let thumbnail = Task { [cache] in try await cache.thumbnail(for: origin.url("/a"), resizedTo: .fit(8, 8)) }
        #expect(await origin.waits { $0.first?.bodyBytesSent == 300_000 })
        try await expectGrowth(try await cache.forward(request(origin.url("/a"))), gate)
        // It is no image.
        await #expect(throws: ImageCacheError.self) { _ = try await thumbnail.value }
        #expect(origin.requests.count == 1)
    }

    @Test func `a file that is being proxied is not fetched a second time`() async throws {
        let gate = Gate()
        let origin = try origin(gate)
        let answer = try await cache.forward(request(origin.url("/a")))
        let file = Task { [cache] in try await cache.file(for: FileRequest(origin.url("/a"))) }
        try await expectGrowth(answer, gate)
        #expect(representation.content.equalsFile(at: try await file.value.path))
        #expect(origin.requests.count == 1)
    }

    @Test func `a proxied GET is answered while another process downloads the same URL`() async throws {
        let gate = Gate()
        let origin = try origin(gate)
        let command = CommandRunner(cacheDirectory: directory.path("cache"))
        let process = try command.start(["fetch", origin.url("/a")])
        #expect(await origin.waits { $0.first?.bodyBytesSent == 300_000 })
        #expect(try await cache.forward(request(origin.url("/a"))).bytes() == representation.content.bytes())
        gate.open()
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(representation.content.equalsFile(at: outcome.lines.first ?? ""))
    }

    @Test func `a proxied GET does not join a download behind a redirect`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] request in
            if request.path == "/a" { return .redirect(to: "/b") }
            return Behaviour(representation).with { $0.bodyGate = (300_000, gate) }
        }
        let file = Task { [cache] in try await cache.file(for: FileRequest(origin.url("/a"))) }
        #expect(await origin.waits { $0.last?.bodyBytesSent == 300_000 })
        #expect(try await cache.forward(request(origin.url("/a"))).head.status == .found)
        gate.open()
        _ = try await file.value
    }

    // MARK: Terms (D14, N6)

    @Test func `a request for a fresher response does not join an earlier download`() async throws {
        let gate = Gate()
        let newer = Representation(seed: 96, size: 1000)
        let origin = try origin(gate) { behaviour, request in
            if request.number > 1 { behaviour = Behaviour(newer) }
        }
        let first = try await cache.forward(request(origin.url("/a")))
        let second = try await cache.forward(request(origin.url("/a"), .get, [.cacheControl: "no-cache"]))
        #expect(try await second.bytes() == newer.content.bytes())
        gate.open()
        #expect(try await first.bytes() == representation.content.bytes())
    }

    @Test func `a wrong SHA-256 in one request does not fail another request`() async throws {
        let gate = Gate()
        let origin = try origin(gate)
        var wrong = request(origin.url("/a"))
        wrong.sha256 = String(repeating: "0", count: 64)
        let first = try await cache.forward(wrong)
        let second = Task { try await cache.forward(request(origin.url("/a"))).bytes() }
        #expect(try await second.value == representation.content.bytes())
        gate.open()
        await #expect(throws: ImageCacheError.self) { _ = try await first.bytes() }
        for _ in 0..<2 { _ = try await cache.forward(request(origin.url("/a"))).bytes() }
        #expect(cache.hotResponse(for: wrong) == nil)
    }

    // MARK: Priority (D13)

    @Test func `joining with a higher priority brings the shared transfer forward`() async throws {
        var configuration = DownloadCache.Configuration()
        configuration.maxTransfers = 1
        let cache = try DownloadCache(directory: directory.path("other"), configuration: configuration)
        let gate = Gate()
        let origin = try origin(gate)
        func request(_ path: String, _ priority: TransferPriority) -> FileRequest {
            var request = FileRequest(origin.url(path))
            request.priority = priority
            return request
        }
        let running = cache.download(request("/running", .normal))
        #expect(await origin.waits { $0.count == 1 })
        let normal = cache.download(request("/normal", .normal))
        let background = cache.download(request("/raised", .background))
        // Both have their keys, and so wait for a slot.
        let store = try DiskStore(directory: directory.path("other"))
        for path in ["/normal", "/raised"] {
            let key = EntryKey(.response(RequestKey(url: origin.url(path))))
            while try store.tryLock(key) != nil { try await Task.sleep(for: .milliseconds(20)) }
        }
        let raised = cache.download(request("/raised", .high))
        gate.open()
        for download in [running, normal, background, raised] { _ = try await download.file }
        #expect(origin.requests.map(\.request.path) == ["/running", "/raised", "/normal"])
    }

    // MARK: Stale while revalidate (D5)

    @Test func `cachedThenFresh(for:) delivers the new file when stale-while-revalidate gave the old one`() async throws
    {
        let origin = try ScriptedOrigin { [clock] request in
            Behaviour(
                Representation(
                    seed: UInt64(request.number), size: 1000, cacheControl: "max-age=60, stale-while-revalidate=600")
            ).with { $0.date = clock.withLock { $0 } }
        }
        let url = origin.url("/a")
        _ = try await cache.file(for: FileRequest(url))
        clock.withLock { $0 += 100 }
        var contents: [[UInt8]] = []
        for try await file in cache.cachedThenFresh(for: FileRequest(url)) {
            contents.append([UInt8](try Data(contentsOf: URL(filePath: file.path))))
        }
        #expect(contents == [1, 2].map { Representation(seed: $0, size: 1000).content.bytes() })
    }

    // MARK: A stopped process (N3)

    @Test func `a stopped process that holds a key blocks no other process, and resumes when continued`() async throws {
        let gate = Gate()
        let origin = try origin(gate)
        let url = origin.url("/a")
        let command = CommandRunner(cacheDirectory: directory.path("cache"))
        let process = try command.start(["fetch", url])
        #expect(await origin.waits { $0.first?.bodyBytesSent == 300_000 })
        // Not in the middle of a transaction: a stopped one blocks all other writers.
        while true {
            process.send(signal: SIGSTOP)
            if (try? await cache.checkWritable()) != nil { break }
            process.send(signal: SIGCONT)
        }
        var patient = FileRequest(url)
        patient.transfer.connectTimeout = .seconds(1)
        patient.transfer.stallTimeout = .seconds(1)
        #expect(representation.content.equalsFile(at: try await cache.file(for: patient).path))
        process.send(signal: SIGCONT)
        gate.open()
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(representation.content.equalsFile(at: outcome.lines.first ?? ""))
        #expect(try await cache.verify().failed == 0)
    }
}
