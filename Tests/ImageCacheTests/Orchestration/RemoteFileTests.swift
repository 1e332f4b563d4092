import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Files that are read where their bytes are needed.
@Suite(.timeLimit) struct RemoteFileTests {
    private static let block = 262_144
    private static let size = 100 * block + 1000
    private static let bytes = ScriptedRepresentation.bytes(size)
    private let representation = ScriptedRepresentation(bytes)

    private func content(_ range: Range<Int>) -> Data { Data(Self.bytes[range]) }

    /// The bytes that were asked for, if all requests had a range.
    private func requested(_ bench: Bench) -> Int? {
        var sum = 0
        for request in bench.transport.requests {
            guard
                let ends = request.fields[.range]?.dropFirst("bytes=".count).split(separator: "-").compactMap({
                    Int($0)
                }),
                let first = ends.first
            else { return nil }
            sum += (ends.count > 1 ? ends[1] + 1 : Self.size) - first
        }
        return sum
    }

    @Test func `reads at any offset load only their blocks`() async throws {
        let bench = try Bench(representation)
        let file = bench.cache.remoteFile(for: Bench.url)
        for offset in [50 * Self.block + 5, 3 * Self.block, 70 * Self.block - 1] {
            #expect(try await file.read(at: Int64(offset), count: 1000) == content(offset..<offset + 1000))
        }
        #expect(requested(bench) == 4 * Self.block)
        #expect(
            try await file.read(at: Int64(50 * Self.block), count: 10)
                == content(50 * Self.block..<50 * Self.block + 10))
        #expect(bench.transport.requests.count == 3)
    }

    @Test func `servers with one strong ETag and different dates have one version`() async throws {
        let representation = representation
        let bench = try Bench { request in
            var representation = representation
            representation.fields[.lastModified] = "Sat, 0\(request.number % 9 + 1) Aug 2026 00:00:00 GMT"
            return representation.response(to: request)
        }
        let file = bench.cache.remoteFile(for: Bench.url)
        for offset in [50 * Self.block, 3 * Self.block, 70 * Self.block] {
            #expect(try await file.read(at: Int64(offset), count: 1000) == content(offset..<offset + 1000))
        }
    }

    @Test func `the size and the last bytes are known without the others`() async throws {
        let bench = try Bench(representation)
        let file = bench.cache.remoteFile(for: Bench.url)
        #expect(try await file.read(last: 8) == content(Self.size - 8..<Self.size))
        #expect(try await file.size == Self.size)
        #expect(bench.transport.requests.count == 1)
        let other = bench.cache.remoteFile(for: Bench.url)
        #expect(try await other.size == Self.size)
        #expect(try await other.read(last: 900) == content(Self.size - 900..<Self.size))
        #expect(bench.transport.requests.count == 1)
    }

    @Test func `a read ends where the file does`() async throws {
        let bench = try Bench(representation)
        let file = bench.cache.remoteFile(for: Bench.url)
        let end = Int64(Self.size)
        #expect(try await file.read(at: end - 10, count: 100) == content(Self.size - 10..<Self.size))
        for offset in [end, end + 5, .max] { #expect(try await file.read(at: offset, count: 100) == Data()) }
        #expect(try await file.read(at: 0, count: 0) == Data())
        #expect(try await file.read(last: 0) == Data())
        #expect(bench.transport.requests.count == 1)
    }

    @Test(arguments: [1000, 100_000, 262_144, 3_000_000])
    func `sequential reads load ahead, and load each byte once`(count: Int) async throws {
        let bench = try Bench(representation)
        let file = bench.cache.remoteFile(for: Bench.url)
        var position = 0
        let end = min(Self.size, 2000 * count)
        while position < end {
            let data = try await file.read(at: Int64(position), count: count)
            try #require(data == content(position..<min(position + count, Self.size)))
            position += data.count
        }
        let requested = requested(bench) ?? 0
        #expect(requested <= Self.size && requested >= position)
        // 256 KiB, 512 KiB and so on up to 8 MiB, and the first read; or one for each read.
        #expect(bench.transport.requests.count <= max(10, end / count + 2), "\(bench.transport.requests.count)")
    }

    @Test func `each of two iterators delivers all bytes in order`() async throws {
        let bench = try Bench(representation)
        let file = bench.cache.remoteFile(for: Bench.url)
        let range = 5 * Self.block + 7..<30 * Self.block + 9
        async let first = collect(file.bytes(in: Int64(range.lowerBound)..<Int64(range.upperBound)))
        async let second = collect(file.bytes(from: Int64(60 * Self.block)))
        #expect(try await first == content(range))
        #expect(try await second == content(60 * Self.block..<Self.size))
        #expect(try await collect(file.bytes(from: Int64(Self.size))) == Data())
        #expect(try await collect(file.bytes(in: 5..<5)) == Data())
        #expect(try await collect(file.bytes(in: .max - 5 ..< .max)) == Data())
    }

    private func collect(_ bytes: some AsyncSequence<Data, ImageCacheError>) async throws -> Data {
        var all = Data()
        for try await piece in bytes {
            #expect(!piece.isEmpty && piece.count <= Self.block)
            all += piece
        }
        return all
    }

    @Test func `a file that changes at the origin is an error, and a new object reads the new version`() async throws {
        let other = ScriptedRepresentation(ScriptedRepresentation.bytes(Self.size, seed: 2), etag: "\"2\"")
        let hasChanged = Locked(false)
        let representation = representation
        let bench = try Bench { request in
            (hasChanged.withLock { $0 } ? other : representation).response(to: request)
        }
        let file = bench.cache.remoteFile(for: Bench.url)
        #expect(try await file.read(at: 0, count: 10) == content(0..<10))
        hasChanged.withLock { $0 = true }
        for _ in 0..<2 {
            let error = await #expect(throws: ImageCacheError.self) {
                try await file.read(at: Int64(10 * Self.block), count: 10)
            }
            #expect(error?.code == .wrongBytes)
        }
        let data = try await bench.cache.remoteFile(for: Bench.url).read(at: Int64(10 * Self.block), count: 10)
        #expect(data == Data(other.bytes[10 * Self.block..<10 * Self.block + 10]))
    }

    @Test func `an origin that ignores ranges sends the file once, and the file is kept while it is read`() async throws
    {
        let bytes = Self.bytes
        let bench = try Bench { _ in
            ScriptedResponse(.ok, [.cacheControl: "max-age=1"], steps: [.bytes(bytes)], length: bytes.count)
        }
        let file = bench.cache.remoteFile(for: Bench.url)
        #expect(try await file.read(at: 1000, count: 10) == content(1000..<1010))
        bench.advance(seconds: 60)
        _ = try await bench.cache.remove(bench.request())
        #expect(try await file.read(last: 10) == content(Self.size - 10..<Self.size))
        #expect(try await file.read(at: Int64(Self.size - 5), count: 10) == content(Self.size - 5..<Self.size))
        // The response to the range, of which nothing is read, and the file.
        #expect(bench.transport.requests.map { $0.fields[.range] } == ["bytes=0-262143", nil])
    }

    @Test func `bytes that could not be loaded are loaded by the next read`() async throws {
        let representation = representation
        let fails = Locked(false)
        let bench = try Bench { request in
            fails.withLock { $0 }
                ? ScriptedResponse(.forbidden, steps: [], length: 0) : representation.response(to: request)
        }
        let file = bench.cache.remoteFile(for: Bench.url)
        #expect(try await file.read(at: 0, count: Self.block) == content(0..<Self.block))
        fails.withLock { $0 = true }
        let error = await #expect(throws: ImageCacheError.self) {
            try await file.read(at: Int64(Self.block), count: 10)
        }
        #expect(error?.code == .status(403))
        fails.withLock { $0 = false }
        #expect(try await file.read(at: Int64(Self.block), count: 10) == content(Self.block..<Self.block + 10))
    }

    @Test func `a cancelled read ends at once`() async throws {
        let gate = AsyncGate()
        let representation = representation
        let bench = try Bench { request in
            request.number == 1
                ? representation.response(to: request) : representation.response(to: request).after(gate)
        }
        let file = bench.cache.remoteFile(for: Bench.url)
        _ = try await file.read(at: 0, count: Self.block)
        let reading = Task { try await file.read(at: Int64(Self.block), count: 10) }
        await bench.transport.requests { $0.count == 2 }
        reading.cancel()
        await #expect(throws: ImageCacheError.self) { try await reading.value }
        gate.open()
    }

    @Test func `a range of a file is read in one call`() async throws {
        let bench = try Bench(representation)
        #expect(try await bench.cache.bytes(for: bench.request(), range: 7..<500) == content(7..<500))
        #expect(requested(bench) == Self.block)
        let error = await #expect(throws: ImageCacheError.self) {
            try await bench.cache.bytes(for: bench.request(), range: -1..<5)
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test func `a read that found nothing stored does not affect a later one`() async throws {
        let bench = try Bench(ScriptedRepresentation(Array(Self.bytes.prefix(1000))))
        let file = bench.cache.remoteFile(for: bench.request { $0.fields[.cacheControl] = "only-if-cached" })
        let error = await #expect(throws: ImageCacheError.self) { try await file.read(at: 0, count: 10) }
        #expect(error?.code == .notCached)
        #expect(bench.transport.requests.isEmpty)
        _ = try await bench.cache.file(for: bench.request())
        #expect(try await file.read(at: 0, count: 10) == content(0..<10))
        #expect(try await file.size == 1000)
        #expect(bench.transport.requests.count == 1)
    }

    @Test(arguments: [(-1, 1), (0, -1), (Int64.min, Int.min), (Int64.max, -1)] as [(Int64, Int)])
    func `a negative offset or count is an error, and not the end of the program`(offset: Int64, count: Int)
        async throws
    {
        let bench = try Bench(representation)
        let file = bench.cache.remoteFile(for: bench.request())
        await #expect(throws: ImageCacheError.self) { try await file.read(at: offset, count: count) }
        await #expect(throws: ImageCacheError.self) { try await file.read(last: min(-1, count)) }
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func `the error about an invalid range has no credentials`() async throws {
        let bench = try Bench(representation)
        let error = await #expect(throws: ImageCacheError.self) {
            try await bench.cache.bytes(for: FileRequest("http://ann:secret@origin.example/a"), range: -1..<5)
        }
        #expect(error?.url == Bench.url)
    }

    @Test func `nothing is requested if only stored bytes are allowed`() async throws {
        let bench = try Bench(representation)
        let request = bench.request { $0.policy = .returnCacheDataDontLoad }
        let error = await #expect(throws: ImageCacheError.self) {
            try await bench.cache.bytes(for: request, range: 0..<10)
        }
        #expect(error?.code == .notCached)
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func `bytes that are not stored say nothing about the version`() async throws {
        let bench = try Bench(representation)
        let stored = bench.cache.remoteFile(for: bench.request { $0.fields[.cacheControl] = "only-if-cached" })
        for block in [0, 9] {
            let start = block * Self.block
            let error = await #expect(throws: ImageCacheError.self) {
                try await stored.read(at: Int64(start), count: 10)
            }
            #expect(error?.code == .notCached)
            _ = try await bench.cache.bytes(for: bench.request(), range: Int64(start)..<Int64(start + 10))
            #expect(try await stored.read(at: Int64(start), count: 10) == content(start..<start + 10))
        }
        #expect(bench.transport.requests.count == 2)
    }
}
