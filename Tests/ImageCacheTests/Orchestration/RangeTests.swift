import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import ImageCacheTesting
import TestSupport
import Testing

@testable import DiskStore
@testable import ImageCache

/// Ranges of large bodies, of which only the missing blocks are requested.
@Suite(.timeLimit) struct RangeTests {
    private static let block = 262_144
    private static let size = 40 * block + 1000
    private static let bytes = ScriptedRepresentation.bytes(size)
    private let representation = ScriptedRepresentation(bytes)
    static let consumers = [Bench.Consumer.proxied, .answer]

    private static func content(_ range: Range<Int>, of bytes: [UInt8] = bytes) -> Body { Body(Array(bytes[range])) }

    private func get(
        _ range: Range<Int>, _ consumer: Bench.Consumer = .answer, of bench: Bench,
        _ change: (inout FileRequest) -> Void = { _ in }
    ) async throws -> Bench.Outcome {
        try await bench.get(consumer) { request in
            request.fields[.range] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
            change(&request)
        }
    }

    /// The ranges that were requested, in their order in the body.
    private func requested(_ bench: Bench) throws -> [Range<Int>] {
        try ranges(bench).map { field in
            let ends = try #require(field).dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
            return ends[0]..<(ends.count > 1 ? ends[1] + 1 : Self.size)
        }.sorted { $0.lowerBound < $1.lowerBound }
    }

    private func ranges(_ bench: Bench) -> [String?] { bench.transport.requests.map { $0.fields[.range] } }

    @Test(arguments: consumers)
    func `a range loads only its blocks, and each block once`(_ consumer: Bench.Consumer) async throws {
        let bench = try Bench(representation)
        let ranges = [
            (5 * Self.block + 10)..<(5 * Self.block + 20), (5 * Self.block + 7)..<(7 * Self.block + 1),
            (Self.size - 66_000)..<Self.size, (6 * Self.block)..<(6 * Self.block + 9),
        ]
        for range in ranges {
            let outcome = try await get(range, consumer, of: bench)
            #expect(outcome.code == 206 && outcome.body == Self.content(range))
        }
        #expect(
            self.ranges(bench) == [
                "bytes=1310720-1572863", "bytes=1572864-2097151", "bytes=10223616-",
            ])
        #expect(bench.transport.requests.dropFirst().allSatisfy { $0.fields[.ifRange] == "\"1\"" })
    }

    @Test(arguments: consumers)
    func `a range is answered by its blocks although a killed process left the resource in a change`(
        _ consumer: Bench.Consumer
    ) async throws {
        let bench = try Bench(representation)
        let range = 5 * Self.block + 10..<5 * Self.block + 20
        for _ in 0..<2 {
            // As a process does that is killed after it has committed.
            try bench.cache.fetcher.store.withIndex { (index) throws(StoreError) in
                let table = try index.generations.tableNow()
                _ = try table.change(table.generation(of: Bench.url))
            }
            let outcome = try await get(range, consumer, of: bench)
            #expect(outcome.code == 206 && outcome.body == Self.content(range))
        }
        #expect(ranges(bench) == ["bytes=1310720-1572863"])
    }

    @Test(arguments: consumers)
    func `a suffix range is answered although the length is unknown`(_ consumer: Bench.Consumer) async throws {
        let bench = try Bench(representation)
        let outcome = try await bench.get(consumer) { $0.fields[.range] = "bytes=-100" }
        #expect(outcome.code == 206 && outcome.body == Self.content(Self.size - 100..<Self.size))
        // It is extended, so that it contains the start of a block.
        #expect(ranges(bench) == ["bytes=-262243"])
        let before = try await get(Self.size - 2000..<Self.size - 1000, consumer, of: bench)
        #expect(before.body == Self.content(Self.size - 2000..<Self.size - 1000))
        #expect(ranges(bench).last == "bytes=10223616-10485759")
    }

    @Test func `a range that was read lately is sent without a look-up, until the file changes`() async throws {
        let bench = try Bench(representation)
        let range = 5 * Self.block + 10..<5 * Self.block + 1000
        func hot(_ range: Range<Int>) throws -> Body? {
            let request = bench.request { $0.fields[.range] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)" }
            return try bench.cache.hotResponse(for: request).map { Body(try $0.bytes()) }
        }
        /// The file stays open for a minute after it was looked up, which may pass under a sanitizer.
        func hotOnceRead(_ range: Range<Int>) async throws -> Body {
            while true {
                if let body = try hot(range) { return body }
                _ = try await get(range, .proxied, of: bench)
            }
        }
        #expect(try hot(range) == nil)
        #expect(try await hotOnceRead(range) == Self.content(range))
        let inner = range.lowerBound + 5..<range.lowerBound + 6
        #expect(try await hotOnceRead(inner) == Self.content(inner))
        // Its blocks are not there, or were not verified.
        #expect(try hot(0..<10) == nil)
        #expect(try hot(range.lowerBound..<range.lowerBound + 3 * Self.block) == nil)
        bench.advance(seconds: 61)
        #expect(try hot(range) == nil)
        bench.advance(seconds: -61)
        _ = try await bench.cache.remove(bench.request())
        #expect(try hot(range) == nil)
    }

    @Test func `a file that stays open for its ranges is closed after a minute, and when the cache is closed`()
        async throws
    {
        let bench = try Bench(representation)
        let fetcher = bench.cache.fetcher
        let request = try ResolvedRequest(narrow: bench.request { $0.fields[.range] = "bytes=0-9" }, by: fetcher.rules)
        /// Opens the incomplete body, once its block is stored.
        func open() async throws -> OpenPartials.Item {
            while true {
                _ = try await get(0..<10, .proxied, of: bench)
                if let item = try fetcher.openPartial(for: request) { return item }
            }
        }
        let item = try await open()
        var partials = OpenPartials()
        partials.insert(item, for: request.key)
        #expect(partials.removeOld(at: item.opened + .seconds(59)) && !partials.isEmpty)
        #expect(!partials.removeOld(at: item.opened + .seconds(61)) && partials.isEmpty)
        _ = try await open()
        #expect(!fetcher.openPartials.withLock(\.isEmpty))
        await bench.cache.close()
        #expect(fetcher.openPartials.withLock(\.isEmpty))
    }

    @Test(arguments: consumers)
    func `a range beyond the end of an unknown body costs no more than the last block`(_ consumer: Bench.Consumer)
        async throws
    {
        let bench = try Bench(representation)
        for _ in 0..<2 {
            let outcome = try await bench.get(consumer) { $0.fields[.range] = "bytes=99999999-" }
            #expect(outcome.code == 416 && outcome.body == [])
        }
        #expect(ranges(bench) == ["bytes=99876864-108265471", "bytes=-262144"])
        let end = try await get(Self.size - 10..<Self.size, consumer, of: bench)
        #expect(end.body == Self.content(Self.size - 10..<Self.size))
    }

    @Test(arguments: consumers)
    func `readers at the same time request each block once`(_ consumer: Bench.Consumer) async throws {
        let bench = try Bench(representation)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<60 {
                group.addTask {
                    let first = (index % 20) * 2 * Self.block + index
                    let range = first..<first + 200_000
                    let outcome = try await get(range, consumer, of: bench)
                    #expect(outcome.body == Self.content(range))
                }
            }
            try await group.waitForAll()
        }
        // Each second block.
        #expect(try requested(bench) == (0..<20).map { 2 * $0 * Self.block..<(2 * $0 + 1) * Self.block })
    }

    @Test func `a later run reads the stored blocks, and requests the others`() async throws {
        let directory = try TestDirectory()
        let representation = representation
        let first = try Bench(in: directory) { representation.response(to: $0) }
        _ = try await get(5 * Self.block..<6 * Self.block, of: first)
        await first.cache.close()
        let second = try Bench(in: directory) { representation.response(to: $0) }
        let held = try await get(5 * Self.block + 3..<6 * Self.block, of: second)
        #expect(held.body == Self.content(5 * Self.block + 3..<6 * Self.block) && held.status.hit)
        _ = try await get(6 * Self.block - 1..<6 * Self.block + 1, of: second)
        #expect(ranges(second) == ["bytes=1572864-1835007"])
        // A download of the file goes on with what ranges have brought.
        let file = try await second.get(.file)
        #expect(file.body == Body(Self.bytes))
        #expect(second.cache.transferTotals.bytesReceived == Self.size - Self.block)
    }

    @Test(arguments: consumers)
    func `another version replaces the blocks, and is never joined with them`(_ consumer: Bench.Consumer) async throws {
        let other = ScriptedRepresentation(ScriptedRepresentation.bytes(Self.size + 5, seed: 2), etag: "\"2\"")
        let hasChanged = Locked(false)
        let representation = representation
        let bench = try Bench { request in
            (hasChanged.withLock { $0 } ? other : representation).response(to: request)
        }
        _ = try await get(0..<10, consumer, of: bench)
        hasChanged.withLock { $0 = true }
        // Fresh, although it has changed (RFC 9111 section 4.2).
        #expect(try await get(0..<10, consumer, of: bench).body == Self.content(0..<10))
        let range = Self.block - 5..<Self.block + 5
        #expect(try await get(range, consumer, of: bench).body == Self.content(range, of: other.bytes))
        #expect(try await get(0..<10, consumer, of: bench).body == Self.content(0..<10, of: other.bytes))
    }

    @Test func `a reader of the old version gets an error, and no byte of the new version`() async throws {
        let other = ScriptedRepresentation(ScriptedRepresentation.bytes(Self.bytes.count, seed: 2), etag: "\"2\"")
        let representation = representation
        let gate = AsyncGate()
        let bench = try Bench { request in
            request.number == 1 ? representation.response(to: request) : other.response(to: request).after(gate)
        }
        // More than a window.
        let range = 0..<36 * Self.block
        let answer = try await bench.cache.forward(
            bench.request { $0.fields[.range] = "bytes=0-\(range.upperBound - 1)" })
        var received: [UInt8] = []
        let error = await #expect(throws: ImageCacheError.self) {
            for try await piece in try #require(answer.body) {
                received += try piece.bytes()
                gate.open()
            }
        }
        #expect(error?.code == .wrongBytes)
        #expect(Body(received) == Self.content(0..<received.count) && !received.isEmpty)
    }

    @Test(arguments: consumers)
    func `stale blocks are revalidated with one byte, or with the request for missing ones`(
        _ consumer: Bench.Consumer
    ) async throws {
        let bench = try Bench(ScriptedRepresentation(Self.bytes, [.cacheControl: "max-age=60"]))
        _ = try await get(0..<10, consumer, of: bench)
        bench.advance(seconds: 100)
        #expect(try await get(0..<10, consumer, of: bench).body == Self.content(0..<10))
        #expect(ranges(bench).last == "bytes=\(Self.size - 1)-")
        // It is fresh again, also for the look-up of the next reader.
        #expect(try await get(5..<10, consumer, of: bench).body == Self.content(5..<10))
        #expect(bench.sent.count == 2)
        bench.advance(seconds: 100)
        let range = 10..<Self.block + 10
        #expect(try await get(range, consumer, of: bench).body == Self.content(range))
        #expect(bench.sent.count == 3 && ranges(bench).last == "bytes=262144-524287")
    }

    @Test(arguments: ["W/\"1\"", nil], consumers)
    func `no block is kept without a strong validator, and the whole body is requested`(
        _ etag: String?, _ consumer: Bench.Consumer
    ) async throws {
        let bench = try Bench(ScriptedRepresentation(Self.bytes, etag: etag))
        let range = 5 * Self.block..<5 * Self.block + 10
        for _ in 0..<2 { #expect(try await get(range, consumer, of: bench).body == Self.content(range)) }
        #expect(ranges(bench).prefix(2) == ["bytes=1310720-1572863", nil])
        // A reader of a proxied response may have left before the body was complete. Nothing is kept then.
        let later = ranges(bench).dropFirst(2)
        #expect(later.allSatisfy { $0 == nil } && later.count <= (consumer == .proxied ? 1 : 0))
    }

    @Test(arguments: consumers)
    func `an origin that ignores ranges is asked once for the whole body`(_ consumer: Bench.Consumer) async throws {
        let representation = representation
        let bench = try Bench { _ in
            return ScriptedResponse(.ok, [.eTag: "\"1\"", .cacheControl: "max-age=60"], body: representation.bytes)
        }
        let range = 5 * Self.block..<5 * Self.block + 10
        for _ in 0..<3 { #expect(try await get(range, consumer, of: bench).body == Self.content(range)) }
        #expect(bench.sent.count == 2)
    }

    /// The response of a server that ignores ranges, in pieces.
    private static func whole(
        _ count: Int = size, hasLength: Bool = true, cacheControl: String = "max-age=60"
    ) -> ScriptedResponse {
        let pieces = stride(from: 0, to: count, by: 100_000).map { start in
            ScriptedResponse.Step.bytes(Array(bytes[start..<min(start + 100_000, count)]))
        }
        return ScriptedResponse(
            .ok, [.eTag: "\"1\"", .cacheControl: cacheControl], steps: pieces, length: hasLength ? count : nil)
    }

    @Test(arguments: consumers, [true, false])
    func `a server that ignores ranges brings the missing blocks of the same version`(
        _ consumer: Bench.Consumer, _ hasLength: Bool
    ) async throws {
        let representation = representation
        let bench = try Bench { request in
            request.number == 2 ? Self.whole(hasLength: hasLength) : representation.response(to: request)
        }
        let held = 10..<20
        let range = 5 * Self.block + 7..<7 * Self.block + 1
        for range in [held, range, held, range] {
            #expect(try await get(range, consumer, of: bench).body == Self.content(range))
        }
        #expect(ranges(bench) == ["bytes=0-262143", "bytes=1310720-2097151"])
        // The transfer ends after the wanted bytes.
        #expect(bench.cache.transferTotals.bytesReceived <= 9 * Self.block)
    }

    @Test(arguments: consumers)
    func `a server that ignores ranges confirms stale blocks of the same version`(_ consumer: Bench.Consumer)
        async throws
    {
        let representation = representation
        let bench = try Bench { request in
            request.number == 2 ? Self.whole() : representation.response(to: request)
        }
        _ = try await get(0..<10, consumer, of: bench)
        bench.advance(seconds: 100)
        for _ in 0..<2 { #expect(try await get(5..<10, consumer, of: bench).body == Self.content(5..<10)) }
        #expect(ranges(bench) == ["bytes=0-262143", "bytes=\(Self.size - 1)-"])
        #expect(bench.cache.transferTotals.bytesReceived <= Self.block + 100_000)
    }

    @Test(arguments: consumers, [0..<10, 2 * block..<2 * block + 10])
    func `the lifetime of a whole response takes the place of that of the blocks it confirms`(
        _ consumer: Bench.Consumer, _ range: Range<Int>
    ) async throws {
        let representation = representation
        let bench = try Bench { request in
            request.number == 2 ? Self.whole(cacheControl: "max-age=0") : representation.response(to: request)
        }
        _ = try await get(0..<10, consumer, of: bench)
        bench.advance(seconds: 100)
        #expect(try await get(range, consumer, of: bench).body == Self.content(range))
        #expect(bench.sent.count == 2)
        for _ in 0..<2 { #expect(try await get(5..<10, consumer, of: bench).body == Self.content(5..<10)) }
        #expect(ranges(bench).dropFirst(2) == ["bytes=\(Self.size - 1)-"])
    }

    @Test(arguments: consumers, ["no-store", "private"])
    func `blocks that a whole response forbids to store are discarded`(
        _ consumer: Bench.Consumer, _ cacheControl: String
    ) async throws {
        let representation = representation
        let bench = try Bench(.shared) { request in
            request.number == 1 ? representation.response(to: request) : Self.whole(cacheControl: cacheControl)
        }
        _ = try await get(0..<10, consumer, of: bench)
        let far = 2 * Self.block..<2 * Self.block + 5
        let outcome = try await get(far, consumer, of: bench)
        // A client gets the server's response as it is.
        let expected = outcome.code == 200 && consumer == .proxied ? 0..<Self.size : far
        #expect(outcome.body == Self.content(expected) && !outcome.status.stored)
        for _ in 0..<2 { #expect(!(try await get(5..<10, consumer, of: bench).status.hit)) }
    }

    @Test(arguments: consumers, [(block: 32, requests: 2), (block: 33, requests: 3)])
    func `a server that ignores ranges sends no more than a window before the missing blocks`(
        _ consumer: Bench.Consumer, _ place: (block: Int, requests: Int)
    ) async throws {
        let representation = representation
        let bench = try Bench { request in
            request.number == 2 ? Self.whole() : representation.response(to: request)
        }
        _ = try await get(0..<10, consumer, of: bench)
        let range = place.block * Self.block + 5..<place.block * Self.block + 10
        #expect(try await get(range, consumer, of: bench).body == Self.content(range))
        #expect(bench.sent.count == place.requests)
        if place.requests == 3 { #expect(bench.cache.transferTotals.bytesReceived <= 2 * Self.block) }
    }

    @Test(arguments: consumers)
    func `a whole body that ends before the missing blocks is of another version`(_ consumer: Bench.Consumer)
        async throws
    {
        let representation = representation
        let bench = try Bench { request in
            request.number == 2 ? Self.whole(1000, hasLength: false) : representation.response(to: request)
        }
        _ = try await get(0..<10, consumer, of: bench)
        let range = 5 * Self.block..<6 * Self.block
        #expect(try await get(range, consumer, of: bench).body == Self.content(range))
        #expect(ranges(bench) == ["bytes=0-262143", "bytes=1310720-1572863", "bytes=1310720-1572863"])
    }

    @Test(arguments: [1, 100_000, 262_144, 300_000])
    func `an interrupted range resumes at its last byte`(_ count: Int) async throws {
        let representation = representation
        let bench = try Bench { request in
            let response = representation.response(to: request)
            return request.number <= 2 ? response.cut(after: count) : response
        }
        let range = 3..<4 * Self.block
        #expect(try await get(range, of: bench).body == Self.content(range))
        #expect(bench.cache.transferTotals.bytesReceived <= 4 * Self.block + 2 * Self.block)
    }

    @Test(arguments: consumers)
    func `a body that does not fit into the store loads only the requested ranges`(_ consumer: Bench.Consumer)
        async throws
    {
        let representation = representation
        let bench = try Bench(.private, { $0.store.capacity = 6 << 20 }) { representation.response(to: $0) }
        for index in [0, 11, 22, 33] {
            let range = index * Self.block + 5..<index * Self.block + 50
            let outcome = try await get(range, consumer, of: bench)
            #expect(outcome.code == 206 && outcome.body == Self.content(range))
        }
        #expect(try requested(bench).map(\.count) == Array(repeating: Self.block, count: 4))
    }

    @Test func `a range beyond the end is 416 with the length, and loads no body`() async throws {
        let bench = try Bench(representation)
        _ = try await get(0..<10, of: bench)
        let answer = try await bench.cache.response(
            for: bench.request { $0.fields[.range] = "bytes=\(Self.size)-" })
        #expect(answer.head.status == .rangeNotSatisfiable && answer.range == nil)
        #expect(answer.head.headerFields[.contentRange] == "bytes */\(Self.size)")
        #expect(bench.sent.count == 1)
    }

    @Test(arguments: consumers)
    func `only-if-cached is answered from the blocks, with 504 when one is missing`(
        _ consumer: Bench.Consumer
    ) async throws {
        let bench = try Bench(representation)
        _ = try await get(0..<10, consumer, of: bench)
        let held = try await get(10..<20, consumer, of: bench) { $0.fields[.cacheControl] = "only-if-cached" }
        #expect(held.code == 206 && held.body == Self.content(10..<20))
        let missing = try await get(Self.block..<Self.block + 1, consumer, of: bench) {
            $0.fields[.cacheControl] = "only-if-cached"
        }
        #expect(missing.code == 504 && bench.sent.count == 1)
    }

    @Test(arguments: consumers)
    func `blocks of an invalidated resource are not served`(_ consumer: Bench.Consumer) async throws {
        let other = ScriptedRepresentation(ScriptedRepresentation.bytes(Self.bytes.count, seed: 2), etag: "\"2\"")
        let representation = representation
        let bench = try Bench { (($0.number == 1) ? representation : other).response(to: $0) }
        _ = try await get(0..<10, consumer, of: bench)
        _ = try await bench.cache.remove(bench.request())
        #expect(try await get(0..<10, consumer, of: bench).body == Self.content(0..<10, of: other.bytes))
    }

    @Test func `blocks of a representation that must no longer be stored are discarded`() async throws {
        let representation = representation
        let isPrivate = Locked(false)
        let bench = try Bench(.shared) { request in
            var response = representation
            if isPrivate.withLock({ $0 }) { response.fields[.cacheControl] = "private" }
            return response.response(to: request)
        }
        _ = try await get(0..<10, .proxied, of: bench)
        #expect(try await get(5..<10, .proxied, of: bench).status.hit)
        isPrivate.withLock { $0 = true }
        let far = 2 * Self.block..<2 * Self.block + 5
        #expect(!(try await get(far, .proxied, of: bench).status.stored))
        for _ in 0..<2 { #expect(!(try await get(5..<10, .proxied, of: bench).status.hit)) }
    }

    @Test(arguments: [500, 503, 404, 403], consumers)
    func `an error of the origin is reported, and the blocks remain`(
        _ status: Int, _ consumer: Bench.Consumer
    ) async throws {
        let representation = representation
        let isFailing = Locked(false)
        let bench = try Bench { request in
            isFailing.withLock { $0 } ? ScriptedResponse(.init(code: status)) : representation.response(to: request)
        }
        _ = try await get(0..<10, consumer, of: bench)
        isFailing.withLock { $0 = true }
        let change: (inout FileRequest) -> Void = { $0.transfer.retry.maxRetries = 0 }
        if consumer == .proxied {
            #expect(try await get(2 * Self.block..<2 * Self.block + 5, consumer, of: bench, change).code == status)
        } else {
            let error = await #expect(throws: ImageCacheError.self) {
                try await get(2 * Self.block..<2 * Self.block + 5, consumer, of: bench, change)
            }
            #expect(error?.code == .status(status))
        }
        isFailing.withLock { $0 = false }
        let sent = bench.sent.count
        #expect(try await get(5..<10, consumer, of: bench).body == Self.content(5..<10))
        #expect(bench.sent.count == sent)
    }

    @Test func `ranges are requested in blocks again after an error of the origin`() async throws {
        let representation = representation
        let isFailing = Locked(true)
        let bench = try Bench { request in
            isFailing.withLock { $0 } ? ScriptedResponse(.serviceUnavailable) : representation.response(to: request)
        }
        await #expect(throws: ImageCacheError.self) {
            try await get(0..<10, of: bench) { $0.transfer.retry.maxRetries = 0 }
        }
        isFailing.withLock { $0 = false }
        _ = try await get(Self.block..<Self.block + 1, of: bench)
        #expect(ranges(bench).last == "bytes=262144-524287")
    }

    @Test(arguments: [
        "bytes 0-262143/10486759", "bytes 1310720-1572863/*", "lines 1-2/3", "",
    ])
    func `a first response that is not the requested range is not kept`(_ contentRange: String) async throws {
        let representation = representation
        let bench = try Bench { request in
            guard request.number == 1 else { return representation.response(to: request) }
            let body = Array(Self.bytes[5 * Self.block..<6 * Self.block])
            return ScriptedResponse(
                .partialContent, [.eTag: "\"1\"", .contentRange: contentRange, .cacheControl: "max-age=60"], body: body)
        }
        let range = 5 * Self.block + 1..<5 * Self.block + 10
        #expect(try await get(range, of: bench).body == Self.content(range))
        #expect(ranges(bench).last == .some(nil))
    }

    @Test func `a first response with less than the requested range is kept, and the rest is requested`() async throws {
        let representation = representation
        let block = Self.block
        let bench = try Bench { request in
            guard request.number == 1 else { return representation.response(to: request) }
            let body = Array(Self.bytes[5 * block..<7 * block - 1])
            return ScriptedResponse(
                .partialContent,
                [
                    .eTag: "\"1\"", .cacheControl: "max-age=60",
                    .contentRange: "bytes \(5 * block)-\(7 * block - 2)/\(Self.bytes.count)",
                ], body: body)
        }
        let range = 5 * block + 1..<7 * block
        #expect(try await get(range, of: bench).body == Self.content(range))
        #expect(ranges(bench) == ["bytes=\(5 * block)-\(7 * block - 1)", "bytes=\(6 * block)-\(7 * block - 1)"])
    }

    @Test func `a file of one block that was cut is requested once more, and has not changed`() async throws {
        let representation = ScriptedRepresentation(Array(Self.bytes[..<200_000]))
        let bench = try Bench { request in
            let response = representation.response(to: request)
            return request.number == 1 ? response.cut(after: 1000) : response
        }
        #expect(try await get(10..<199_999, of: bench).body == Body(Array(representation.bytes[10..<199_999])))
        #expect(bench.transport.requests.count <= 3, "\(ranges(bench))")
    }

    @Test func `the blocks of a response whose rest must not be stored are not kept`() async throws {
        let bench = try Bench { request in
            let cacheControl = request.number == 1 ? "max-age=60" : "no-store"
            return ScriptedRepresentation(Self.bytes, [.cacheControl: cacheControl]).response(to: request)
        }
        for first in [5, 9] {
            let range = first * Self.block + 1..<first * Self.block + 10
            #expect(try await get(range, of: bench).body == Self.content(range))
        }
        await bench.cache.close()
        #expect(DiskUsage.files(at: "\(bench.cache.directory)/partials").isEmpty)
    }

    @Test func `the blocks of a response that must not be stored are not kept`() async throws {
        let bench = try Bench(ScriptedRepresentation(Self.bytes, [.cacheControl: "no-store"]))
        let range = 5 * Self.block + 1..<5 * Self.block + 10
        _ = try await get(range, .proxied, of: bench)
        #expect(DiskUsage.files(at: "\(bench.cache.directory)/partials").isEmpty)
    }

    @Test func `the Content-Digest of a part is not taken for that of the whole`() async throws {
        let representation = representation
        let name = try #require(HTTPField.Name("Content-Digest"))
        let bench = try Bench { request in
            var response = representation.response(to: request)
            if response.status == .partialContent {
                response.fields[name] = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
            }
            return response
        }
        #expect(try await get(1..<10, of: bench).body == Self.content(1..<10))
        let entry = try await bench.cache.file(for: bench.request())
        #expect(entry.response.fields[name] == nil)
        #expect(try await bench.get(.answer).body == Body(Self.bytes))
        #expect(bench.transport.requests.count <= 3)
    }
}
