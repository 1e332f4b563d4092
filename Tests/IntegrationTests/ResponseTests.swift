import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// Ranges, conditions and HEAD, answered from stored responses, as a proxy and a client with its own cache request them.
@Suite(.fewAtATime) struct AnswerTests {
    private let directory: TestDirectory
    private let clock = Locked(Date())
    private let cache: DownloadCache
    private static let modified = Date(timeIntervalSince1970: 1_700_000_000)
    private let representation = Representation(seed: 41, size: 1_000_000, lastModified: modified)

    init() throws {
        directory = try TestDirectory()
        var configuration = DownloadCache.Configuration()
        configuration.now = { [clock] in clock.withLock { $0 } }
        cache = try DownloadCache(directory: directory.path("cache"), configuration: configuration)
    }

    private func origin(_ change: @escaping @Sendable (inout Behaviour, ReceivedRequest) -> Void = { _, _ in }) throws
        -> ScriptedOrigin
    {
        try ScriptedOrigin { [representation, clock] request in
            Behaviour(representation).with {
                $0.date = clock.withLock { $0 }
                change(&$0, request)
            }
        }
    }

    private func request(_ url: String, _ fields: [(String, String)] = [], head: Bool = false) -> FileRequest {
        var request = FileRequest(url)
        request.method = head ? .head : .get
        request.transfer.retry.maxRetries = 0
        for (name, value) in fields {
            guard let name = HTTPField.Name(name) else { continue }
            request.fields.append(HTTPField(name: name, value: value))
        }
        return request
    }

    private func content(of answer: CachedResponse) async throws -> [UInt8] {
        let path = directory.path("content")
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try await answer.copyContent(toDescriptor: descriptor)
        return Array(try Data(contentsOf: URL(filePath: path)))
    }

    @Test(arguments: [
        ("bytes=0-99", Int64(0)..<100), ("bytes=999990-", 999_990..<1_000_000), ("bytes=-10", 999_990..<1_000_000),
        ("bytes=500000-2000000", 500_000..<1_000_000),
    ])
    func `a range is answered from the stored file with 206`(range: String, expected: Range<Int64>) async throws {
        let origin = try origin()
        _ = try await cache.file(for: request(origin.url()))
        let answer = try await cache.response(for: request(origin.url(), [("Range", range)]))
        #expect(answer.head.status == .partialContent)
        #expect(answer.range == expected)
        #expect(
            answer.head.headerFields[.contentRange]
                == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/1000000")
        #expect(answer.head.headerFields[.contentLength] == "\(expected.count)")
        #expect(answer.head.headerFields[.age] == "0")
        #expect(try await content(of: answer) == representation.content.bytes(expected))
        #expect(origin.requests.count == 1)
    }

    @Test func `a range of a small file loads its block first and then the rest, each byte once`()
        async throws
    {
        let origin = try origin()
        let first = try await cache.response(for: request(origin.url(), [("Range", "bytes=10-19")]))
        #expect(try await content(of: first) == representation.content.bytes(10..<20))
        #expect(first.bytesTransferred == 262_144)
        #expect(first.cacheStatus.forward == .uriMiss)
        let second = try await cache.response(for: request(origin.url(), [("Range", "bytes=20-29")]))
        #expect(try await content(of: second) == representation.content.bytes(20..<30))
        #expect(second.bytesTransferred == 0)
        let file = try await cache.file(for: request(origin.url()))
        #expect(representation.content.equalsFile(at: file.path))
        #expect(origin.requests.map { $0["Range"] } == ["bytes=0-262143", "bytes=262144-"])
        #expect(origin.bodyBytesSent == representation.size)
    }

    @Test func `a range beyond the end is 416 with the length`() async throws {
        let origin = try origin()
        let answer = try await cache.response(for: request(origin.url(), [("Range", "bytes=1000000-")]))
        #expect(answer.head.status == .rangeNotSatisfiable)
        #expect(answer.head.headerFields[.contentRange] == "bytes */1000000")
        #expect(answer.range == nil)
        #expect(try await content(of: answer) == [])
    }

    @Test func `If-Range with another validator gets the whole file, with the stored one the range`() async throws {
        let origin = try origin()
        let other = try await cache.response(
            for: request(origin.url(), [("Range", "bytes=0-9"), ("If-Range", "\"other\"")]))
        #expect(other.head.status == .ok)
        #expect(other.range == 0..<1_000_000)
        let same = try await cache.response(
            for: request(origin.url(), [("Range", "bytes=0-9"), ("If-Range", "\"v41\"")]))
        #expect(same.head.status == .partialContent)
    }

    @Test(arguments: [
        ([("If-None-Match", "\"v41\"")], 304), ([("If-None-Match", "W/\"v41\"")], 304),
        ([("If-None-Match", "\"v40\"")], 200), ([("If-Modified-Since", "Tue, 14 Nov 2023 22:13:20 GMT")], 304),
        ([("If-Modified-Since", "Tue, 14 Nov 2023 22:13:19 GMT")], 200),
        ([("If-None-Match", "\"v40\""), ("If-Modified-Since", "Tue, 14 Nov 2023 22:13:20 GMT")], 200),
    ])
    func `a client's own condition is answered from the store`(fields: [(String, String)], status: Int) async throws {
        let origin = try origin()
        _ = try await cache.file(for: request(origin.url()))
        let answer = try await cache.response(for: request(origin.url(), fields))
        #expect(answer.head.status.code == status)
        #expect(answer.range == (status == 304 ? nil : 0..<1_000_000))
        #expect(answer.head.headerFields[.eTag] == "\"v41\"")
        #expect(origin.requests.count == 1)
    }

    @Test func `a client's condition about a stale file is answered after the origin confirmed the file`() async throws
    {
        let origin = try origin()
        _ = try await cache.file(for: request(origin.url()))
        clock.withLock { $0 += 4000 }
        let answer = try await cache.response(for: request(origin.url(), [("If-None-Match", "\"v41\"")]))
        #expect(answer.head.status == .notModified)
        #expect(answer.head.headerFields[.age] == "0")
        #expect(origin.requests.count == 2)
        #expect(origin.requests.last?["If-None-Match"] == "\"v41\"")
        #expect(answer.bytesTransferred == 0)
    }

    @Test func `an unfinished download answers the ranges that it covers, and is continued for others`()
        async throws
    {
        let origin = try origin { behaviour, request in
            if request.number == 1 { behaviour.cutAfter = 600_000 }
        }
        await #expect(throws: ImageCacheError.self) { try await cache.file(for: request(origin.url())) }
        let covered = try await cache.response(for: request(origin.url(), [("Range", "bytes=300000-599999")]))
        #expect(covered.head.status == .partialContent)
        #expect(covered.head.headerFields[.contentRange] == "bytes 300000-599999/1000000")
        #expect(try await content(of: covered) == representation.content.bytes(300_000..<600_000))
        #expect(covered.file == nil)
        #expect(origin.requests.count == 1)

        let lacking = try await cache.response(for: request(origin.url(), [("Range", "bytes=300000-600000")]))
        #expect(try await content(of: lacking) == representation.content.bytes(300_000..<600_001))
        #expect(lacking.bytesTransferred == 262_144)
        #expect(lacking.cacheStatus.forward == .partial)
        // Only the block that it lacks, and for a small file the rest in the background.
        #expect(origin.requests[1]["Range"] == "bytes=524288-786431")
        // Files delivered before stay readable.
        #expect(try await content(of: covered) == representation.content.bytes(300_000..<600_000))
    }

    @Test func `a damaged block of an unfinished download is fetched again before it is used`() async throws {
        let origin = try origin { behaviour, request in
            if request.number == 1 { behaviour.cutAfter = 600_000 }
        }
        await #expect(throws: ImageCacheError.self) { try await cache.file(for: request(origin.url())) }
        let data = try #require(
            DiskUsage.files(at: cache.directory).first { $0.hasPrefix("partials/") && $0.hasSuffix(".data") })
        let file = try FileHandle(forUpdating: URL(filePath: "\(cache.directory)/\(data)"))
        try file.seek(toOffset: 100_000)
        try file.write(contentsOf: Data([0, 1, 2, 3, 4, 5, 6, 7]))
        try file.close()
        let answer = try await cache.response(for: request(origin.url(), [("Range", "bytes=99990-100019")]))
        #expect(try await content(of: answer) == representation.content.bytes(99_990..<100_020))
        #expect(origin.requests.count > 1)
    }

    @Test func `HEAD is answered from a fresh file, with its length and without a body`() async throws {
        let origin = try origin()
        _ = try await cache.file(for: request(origin.url()))
        let answer = try await cache.response(for: request(origin.url(), head: true))
        #expect(answer.head.status == .ok)
        #expect(answer.head.headerFields[.contentLength] == "1000000")
        #expect(answer.range == nil)
        #expect(origin.requests.count == 1)
    }

    @Test func `HEAD of an unstored file asks the origin for the head alone and stores nothing`() async throws {
        let origin = try origin()
        let answer = try await cache.response(for: request(origin.url(), head: true))
        #expect(answer.head.status == .ok)
        #expect(answer.head.headerFields[.eTag] == "\"v41\"")
        #expect(answer.bytesTransferred == 0)
        #expect(origin.requests.map(\.request.method) == ["HEAD"])
        #expect(try await cache.statistics().entries == 0)
    }

    @Test func `HEAD of a stale file makes it fresh when it agrees, and invalid when it does not`() async throws {
        let origin = try origin { [representation] behaviour, request in
            if request.number >= 3 {
                behaviour.representation = Representation(
                    seed: 42, size: representation.size, lastModified: Self.modified.addingTimeInterval(60))
            }
        }
        _ = try await cache.file(for: request(origin.url()))
        clock.withLock { $0 += 4000 }
        _ = try await cache.response(for: request(origin.url(), head: true))
        let refreshed = try await cache.file(for: request(origin.url()))
        #expect(refreshed.source == .disk)
        #expect(origin.requests.map(\.request.method) == ["GET", "HEAD"])

        clock.withLock { $0 += 4000 }
        let changed = try await cache.response(for: request(origin.url(), head: true))
        #expect(changed.head.headerFields[.eTag] == "\"v42\"")
        let anew = try await cache.file(for: request(origin.url()))
        #expect(anew.source == .network)
        #expect(Content(seed: 42, size: 1_000_000).equalsFile(at: anew.path))
    }

    @Test func `only-if-cached without a stored file is a 504 as a field and an error as a policy`() async throws {
        let origin = try origin()
        let answer = try await cache.response(for: request(origin.url(), [("Cache-Control", "only-if-cached")]))
        #expect(answer.head.status == .gatewayTimeout)
        #expect(answer.head.headerFields[HTTPField.Name("Cache-Status")!] == "imgcache; detail=only-if-cached")
        var offline = request(origin.url())
        offline.policy = .returnCacheDataDontLoad
        let error = await #expect(throws: ImageCacheError.self) { try await cache.response(for: offline) }
        #expect(error?.code == .notCached)
        #expect(origin.requests.isEmpty)
    }

    @Test func `Cache-Status reports a miss, a hit, a revalidation and a stale response`() async throws {
        let origin = try origin { behaviour, request in
            behaviour.representation.cacheControl = "max-age=3600, stale-if-error=600"
            if request.number == 3 { behaviour.status = 503 }
        }
        func status() async throws -> String? {
            try await cache.response(for: request(origin.url())).head.headerFields[HTTPField.Name("Cache-Status")!]
        }
        #expect(try await status() == "imgcache; fwd=uri-miss; fwd-status=200; stored; ttl=3600")
        clock.withLock { $0 += 100 }
        #expect(try await status() == "imgcache; hit; ttl=3500")
        clock.withLock { $0 += 3600 }
        #expect(try await status() == "imgcache; fwd=stale; fwd-status=304; stored; ttl=3600")
        clock.withLock { $0 += 3700 }
        #expect(try await status() == "imgcache; fwd=stale; fwd-status=503; ttl=-100; detail=stale-if-error")
    }

    @Test func `Cache-Status reports that a request joined a running download`() async throws {
        let gate = Gate()
        let origin = try origin { behaviour, _ in behaviour.gate = gate }
        let first = Task { [cache, request = request(origin.url())] in try await cache.file(for: request) }
        #expect(await origin.waits { $0.count == 1 })
        let second = cache.download(request(origin.url()))
        gate.open()
        #expect(
            try await first.value.cacheStatus.description == "imgcache; fwd=uri-miss; fwd-status=200; stored; ttl=3600")
        #expect(
            try await second.file.cacheStatus.description
                == "imgcache; fwd=uri-miss; fwd-status=200; stored; collapsed; ttl=3600")
    }

    @Test func `a range of a file that is being downloaded comes with its last byte, and not with the file's`()
        async throws
    {
        let (early, late) = (Gate(), Gate())
        let (content, size) = (representation.content, representation.size)
        let fields = [("ETag", "\"v\""), ("Cache-Control", "max-age=60"), ("Content-Length", "\(size)")]
        let origin = try ScriptedOrigin { _ in
            [
                .head(status: 200, fields: fields), .content(content, 0..<100), .wait(for: early),
                .content(content, 100..<300_000), .wait(for: late), .content(content, 300_000..<size),
            ]
        }
        let whole = Task { [cache, request = request(origin.url())] in try await cache.file(for: request) }
        #expect(await origin.waits { $0.first?.bodyBytesSent == 100 })
        let ranges = ["bytes=10-99", "bytes=0-262143"].map { range in
            Task { [cache, request = request(origin.url(), [("Range", range)])] in
                try await cache.response(for: request)
            }
        }
        early.open()
        #expect(try await self.content(of: ranges[0].value) == content.bytes(10..<100))
        #expect(try await self.content(of: ranges[1].value) == content.bytes(0..<262_144))
        late.open()
        #expect(try await whole.value.size == size && origin.requests.count == 1)
    }

    @Test func `file(for:) refuses a request that is not for a whole file`() async throws {
        let origin = try origin()
        for wrong in [request(origin.url(), head: true), request(origin.url(), [("Range", "bytes=0-1")])] {
            let error = await #expect(throws: ImageCacheError.self) { try await cache.file(for: wrong) }
            #expect(error?.code == .invalidRequest)
        }
        var post = request(origin.url())
        post.method = .post
        let refused = post
        let error = await #expect(throws: ImageCacheError.self) { try await cache.response(for: refused) }
        #expect(error?.code == .invalidRequest)
        #expect(origin.requests.isEmpty)
    }
}
