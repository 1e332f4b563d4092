import CacheTestSupport
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Bodies that are cut and continued.
@Suite(.timeLimit) struct ResumeTests {
    static let size = 600_000
    private static let body = Body(ScriptedRepresentation.bytes(size))
    static let consumers = [Bench.Consumer.file, .proxied]
    private var bytes: [UInt8] { Self.body.bytes }

    /// A response that is cut, and the next one.
    private func bench(
        cutAfter count: Int, first: String? = "\"1\"", next: String? = "\"1\"",
        _ directory: TestDirectory? = nil
    ) throws -> Bench {
        let bytes = bytes
        return try Bench(in: directory) { request in
            let etag = request.number == 1 ? first : next
            let response = ScriptedRepresentation(bytes, etag: etag).response(to: request)
            return request.number == 1 ? response.cut(after: count) : response
        }
    }

    @Test(arguments: [1, 200_000, 262_144, 300_000, 524_288, 599_999], consumers)
    func `an interrupted body resumes at its last byte`(_ count: Int, _ consumer: Bench.Consumer) async throws {
        let bench = try bench(cutAfter: count)
        #expect(try await bench.get(consumer).body == Self.body)
        let second = try #require(bench.transport.requests.last)
        #expect(bench.sent.count == 2 && second.fields[.range] == "bytes=\(count)-")
        #expect(second.fields[.ifRange] == "\"1\"")
        #expect(bench.cache.transferTotals.bytesReceived == Self.size)
    }

    @Test(arguments: [("W/\"1\"", "W/\"1\""), (nil, nil)])
    func `a body without a strong validator is fetched again completely`(_ first: String?, _ next: String?) async throws
    {
        let bench = try bench(cutAfter: 300_000, first: first, next: next)
        #expect(try await bench.get(.file).body == Self.body)
        #expect(bench.transport.requests.map { $0.fields[.range] } == [nil, nil])
    }

    @Test(arguments: ["no-store", "private"], [FileRequest.NoStoreBehavior.deliver, .fail])
    func `a body whose rest must not be stored is not stored, and delivered if the request allows it`(
        directive: String, behavior: FileRequest.NoStoreBehavior
    ) async throws {
        let bytes = bytes
        let bench = try Bench(.shared) { request in
            var representation = ScriptedRepresentation(bytes)
            representation.fields[.cacheControl] = request.number == 1 ? "max-age=60" : directive
            let response = representation.response(to: request)
            return request.number == 1 ? response.cut(after: 300_000) : response
        }
        let request = bench.request { $0.noStoreBehavior = behavior }
        if behavior == .fail {
            let error = await #expect(throws: ImageCacheError.self) { try await bench.cache.file(for: request) }
            #expect(error?.code == .notStorable)
        } else {
            let file = try await bench.cache.file(for: request)
            #expect(try Bench.body(of: file) == Self.body && !file.isStored)
        }
        #expect(try await bench.cache.statistics().entries == 0)
    }

    @Test func `a body that starts over again and again keeps no file of an earlier start`() async throws {
        let gate = AsyncGate()
        let bytes = bytes
        let bench = try Bench { request in
            let response = ScriptedRepresentation(bytes, etag: "\"\(request.number)\"").response(to: request)
            return request.number < 8 ? response.cut(after: 300_000) : response.pausing(after: 300_000, for: gate)
        }
        let request = bench.request { $0.transfer.retry.maxRetries = 10 }
        let task = Task { try await bench.cache.file(for: request) }
        _ = await bench.transport.requests { $0.count == 8 }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        let deleted = open.filter { $0.hasPrefix(bench.cache.directory) && $0.hasSuffix(" (deleted)") }
        #expect(deleted.count { $0.contains(".data") } <= 1, "\(deleted)")
        gate.open()
        #expect(try Bench.body(of: try await task.value) == Self.body)
    }

    @Test func `a file that changed since the interruption is fetched again completely`() async throws {
        let bench = try bench(cutAfter: 300_000, next: "\"2\"")
        let file = try await bench.cache.file(for: bench.request())
        #expect(try Bench.body(of: file) == Self.body && file.response.fields[.eTag] == "\"2\"")
        #expect(bench.transport.requests.last?.fields[.range] != nil)
    }

    @Test func `a proxied message ends with an error if the body changed after its beginning was sent`() async throws {
        let gate = AsyncGate()
        let bytes = bytes
        let bench = try Bench { request in
            let response = ScriptedRepresentation(bytes, etag: "\"\(request.number)\"").response(to: request)
            return request.number == 1 ? response.cut(after: 300_000) : response.after(gate)
        }
        let answer = try await bench.cache.forward(bench.request())
        var received: [UInt8] = []
        await #expect(throws: ImageCacheError.self) {
            for try await piece in try #require(answer.body) {
                received += try piece.bytes()
                gate.open()
            }
        }
        #expect(Body(received) == Body(Array(bytes.prefix(received.count))) && !received.isEmpty)
    }

    @Test(arguments: consumers)
    func `a partial that one run left is resumed by the next`(_ consumer: Bench.Consumer) async throws {
        let directory = try TestDirectory()
        let first = try bench(cutAfter: 300_000, directory)
        #expect(await first.failure(.file) { $0.transfer.retry.maxRetries = 0 } == .unreachable)
        await first.cache.close()
        let bytes = bytes
        let second = try Bench(in: directory) { ScriptedRepresentation(bytes).response(to: $0) }
        #expect(try await second.get(consumer).body == Self.body)
        #expect(second.transport.requests.map { $0.fields[.range] } == ["bytes=300000-"])
        #expect(second.cache.transferTotals.bytesReceived == Self.size - 300_000)
    }

    @Test(arguments: [(true, "bytes=300000-" as String?), (false, nil)])
    func `a partial is resumed unless the request disables it`(_ resumes: Bool, _ range: String?) async throws {
        let bench = try bench(cutAfter: 300_000)
        _ = await bench.failure(.file) { $0.transfer.retry.maxRetries = 0 }
        #expect(try await bench.get(.file) { $0.resumes = resumes }.body == Self.body)
        #expect(bench.transport.requests.last?.fields[.range] == range)
    }

    @Test(arguments: consumers)
    func `interruptions without progress are retried as often as the request allows`(_ consumer: Bench.Consumer)
        async throws
    {
        let bench = try Bench { ScriptedRepresentation([1, 2, 3]).response(to: $0).cut(after: 0) }
        let code: ImageCacheError.Code? = await bench.failure(consumer) { $0.transfer.retry.maxRetries = 2 }
        #expect(code == .unreachable)
        #expect(bench.sent.count == (consumer == .file ? 3 : 1))
    }

    @Test func `a range of a partial answers without a request`() async throws {
        let bench = try bench(cutAfter: 500_000)
        _ = await bench.failure(.file) { $0.transfer.retry.maxRetries = 0 }
        let outcome = try await bench.get(.answer) { $0.fields[.range] = "bytes=1000-1999" }
        #expect(outcome.code == 206 && outcome.body == Body(Array(bytes[1000..<2000])) && bench.sent.count == 1)
    }

    @Test func `a SHA-256 is checked over a body that came in two parts`() async throws {
        let bench = try bench(cutAfter: 300_000)
        let digest = SHA256.hex(of: bytes)
        #expect(try await bench.get(.file) { $0.sha256 = digest }.body == Self.body)
        let other = try self.bench(cutAfter: 300_000)
        #expect(await other.failure(.file) { $0.sha256 = String(repeating: "0", count: 64) } == .wrongBytes)
        #expect(try await other.cache.entries().isEmpty)
    }
}
