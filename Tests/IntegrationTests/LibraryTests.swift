import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// The library against a real origin and a real directory.
@Suite(.fewAtATime) struct LibraryTests {
    private let directory: TestDirectory
    private let cache: DownloadCache
    private let representation = Representation(seed: 111, size: 2_000_000)

    init() throws {
        directory = try TestDirectory()
        cache = try DownloadCache(directory: directory.path("cache"))
    }

    @Test func `100 equal requests at once are one request to the origin`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] _ in Behaviour(representation).with { $0.gate = gate } }
        let request = FileRequest.patient(origin.url("/a"))
        try await withThrowingTaskGroup(of: CachedFile.self) { group in
            for _ in 0..<100 { group.addTask { [cache] in try await cache.file(for: request) } }
            #expect(await origin.waits { $0.count == 1 })
            gate.open()
            var paths: Set<String> = []
            for try await file in group {
                paths.insert(file.path)
                #expect(file.size == representation.size)
            }
            #expect(paths.count == 1)
            #expect(representation.content.equalsFile(at: paths.first ?? ""))
        }
        #expect(origin.requests.count == 1)
        #expect(origin.bodyBytesSent == representation.size)
    }

    @Test func `each of several equal requests receives the heads of the transfer that they share`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] _ in Behaviour(representation).with { $0.gate = gate } }
        let heads = Locked([[String]](repeating: [], count: 3))
        func download(_ number: Int) -> Download {
            var request = FileRequest(origin.url("/a"))
            request.transfer.maxSegments = 1
            request.trace = { head in heads.withLock { $0[number].append(head) } }
            return cache.download(request)
        }
        var downloads = [download(0), download(1)]
        #expect(await origin.waits { $0.count == 1 })
        downloads.append(download(2))
        gate.open()
        for download in downloads { _ = try await download.file }
        #expect(origin.requests.count == 1)
        for heads in heads.withLock({ $0 }) {
            #expect(heads.count == 2)
            #expect(heads.first?.hasPrefix("> GET /a ") == true && heads.last?.hasPrefix("< HTTP/1.1 200") == true)
        }
    }

    @Test func `cancelling one of several callers does not affect the others`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] _ in
            Behaviour(representation).with { $0.bodyGate = (1_000_000, gate) }
        }
        let request = FileRequest(origin.url("/a"))
        let callers = (0..<5).map { _ in Task { [cache] in try await cache.file(for: request) } }
        #expect(await origin.waits { $0.first?.bodyBytesSent == 1_000_000 })
        callers[2].cancel()
        let cancelled = await callers[2].result
        #expect(throws: ImageCacheError.self) { try cancelled.get() }
        gate.open()
        for (index, caller) in callers.enumerated() where index != 2 {
            #expect(representation.content.equalsFile(at: try await caller.value.path))
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `the last caller's cancellation stops the transfer and keeps the received bytes`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] _ in
            Behaviour(representation).with { $0.bodyGate = (1_000_000, gate) }
        }
        let request = FileRequest(origin.url("/a"))
        let callers = (0..<3).map { _ in Task { [cache] in try await cache.file(for: request) } }
        #expect(await origin.waits { $0.first?.bodyBytesSent == 1_000_000 })
        for caller in callers { caller.cancel() }
        #expect(await origin.waits { $0.first?.ending == .peerGone }, "the connection stays open")
        for caller in callers {
            let result = await caller.result
            #expect(throws: ImageCacheError.self) { try result.get() }
        }
        gate.open()
        let file = try await cache.file(for: request)
        #expect(file.source == .networkResumed)
        // Sent bytes may still have been in transit.
        #expect(file.resumedFrom > 0 && file.resumedFrom <= 1_000_000)
        #expect(origin.requests.last?["Range"] == "bytes=\(file.resumedFrom)-")
        #expect(file.bytesTransferred == representation.size - file.resumedFrom)
        #expect(representation.content.equalsFile(at: file.path))
    }

    @Test func `a held file stays readable after removal, eviction and clearing`() async throws {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: UInt64(request.path.count), size: 2_000_000))
        }
        var configuration = DownloadCache.Configuration()
        configuration.store.capacity = 8 << 20
        let small = try DownloadCache(directory: directory.path("small"), configuration: configuration)
        let held = try await small.file(for: FileRequest(origin.url("/a")))
        for length in 2...10 {
            _ = try await small.file(for: FileRequest(origin.url("/" + String(repeating: "b", count: length))))
        }
        #expect(try await small.file(for: FileRequest(origin.url("/a"))).source == .network, "it was not evicted")
        #expect(Content(seed: 2, size: 2_000_000).equalsFile(at: held.path))
        #expect(DiskUsage.bytes(at: directory.path("small")) <= 8 << 20)
    }

    @Test func `each of two requests with other fields gets its own variant when Vary says so`() async throws {
        let origin = try ScriptedOrigin { request in
            var representation = Representation(seed: request["Accept"] == "image/webp" ? 1 : 2, size: 300_000)
            representation.fields = [("Vary", "Accept")]
            return Behaviour(representation)
        }
        for _ in 1...2 {
            for (accept, seed) in [("image/webp", UInt64(1)), ("image/png", 2)] {
                var request = FileRequest(origin.url("/a"))
                request.fields[.accept] = accept
                let file = try await cache.file(for: request)
                #expect(Content(seed: seed, size: 300_000).equalsFile(at: file.path))
            }
        }
        #expect(origin.requests.count == 2)
    }

    @Test func `progress ends with all bytes, and an unread progress stream does not delay the transfer`() async throws
    {
        let origin = try ScriptedOrigin(serving: representation)
        let download = cache.download(FileRequest(origin.url("/a")))
        let unread = download.progress
        var last = DownloadProgress()
        for await progress in download.progress { last = progress }
        #expect(last.received == representation.size)
        #expect(last.total == representation.size)
        #expect(try await download.file.source == .network)
        _ = unread
    }

    @Test func `deleting the cache directory under an open cache causes an error or a new directory, no crash`()
        async throws
    {
        let origin = try ScriptedOrigin(serving: representation)
        let first = try await cache.file(for: FileRequest(origin.url("/a")))
        try FileManager.default.removeItem(atPath: cache.directory)
        for path in ["/a", "/b"] {
            do {
                let file = try await cache.file(for: FileRequest(origin.url(path)))
                #expect(representation.content.equalsFile(at: file.path))
            } catch {
                #expect(error.code.storeReason != nil, "\(error)")
                #expect("\(error)".contains(cache.directory), "\(error)")
            }
        }
        _ = first
        let next = try DownloadCache(directory: cache.directory)
        #expect(representation.content.equalsFile(at: try await next.file(for: FileRequest(origin.url("/c"))).path))
    }

    @Test func `a directory that is deleted during a download ends in a file or a typed error`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] _ in
            Behaviour(representation).with { $0.bodyGate = (1_000_000, gate) }
        }
        let caller = Task { [cache] in try await cache.file(for: FileRequest(origin.url("/a"))) }
        #expect(await origin.waits { $0.first?.bodyBytesSent == 1_000_000 })
        try FileManager.default.removeItem(atPath: cache.directory)
        gate.open()
        switch await caller.result {
        case .success(let file): #expect(representation.content.equalsFile(at: file.path))
        case .failure(let error): #expect((error as? ImageCacheError)?.code.storeReason != nil, "\(error)")
        }
    }

    @Test func `requests to one host share at most the connections that are allowed`() async throws {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: UInt64(request.path.count), size: 20_000))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for length in 1...60 {
                let url = origin.url("/" + String(repeating: "x", count: length))
                group.addTask { [cache] in
                    let file = try await cache.file(for: FileRequest(url))
                    #expect(Content(seed: UInt64(length + 1), size: 20_000).equalsFile(at: file.path))
                }
            }
            try await group.waitForAll()
        }
        #expect(origin.requests.count == 60)
        #expect(origin.connections <= DownloadCache.Configuration().maxTransfersPerHost)
    }

    @Test func `two caches on one directory download a key once`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] _ in Behaviour(representation).with { $0.gate = gate } }
        let other = try DownloadCache(directory: cache.directory)
        let request = FileRequest.patient(origin.url("/a"))
        async let first = cache.file(for: request)
        async let second = other.file(for: request)
        #expect(await origin.waits { $0.count == 1 })
        gate.open()
        let files = try await [first, second]
        #expect(Set(files.map(\.path)).count == 1)
        #expect(origin.requests.count == 1)
    }
}
