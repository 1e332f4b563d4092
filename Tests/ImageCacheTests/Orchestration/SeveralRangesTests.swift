import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Requests for several ranges, answered as `multipart/byteranges` (RFC 9110 section 14.6).
@Suite(.timeLimit) struct SeveralRangesTests {
    private static let block = 262_144
    private static let size = 40 * block + 1000
    private static let bytes = ScriptedRepresentation.bytes(size)
    private static let otherBytes = ScriptedRepresentation.bytes(size, seed: 2)
    private let representation = ScriptedRepresentation(
        bytes, [.contentType: "video/mp4", .cacheControl: "max-age=60"])

    private func get(_ ranges: String, of bench: Bench, _ fields: HTTPFields = [:]) async throws -> ForwardedResponse {
        var request = ForwardRequest(Bench.url)
        for field in fields { request.fields.append(field) }
        request.fields[.range] = "bytes=\(ranges)"
        return try await bench.cache.forward(request)
    }

    private struct Part: Equatable {
        var type: String?
        var range: String?
        var bytes: Data
    }

    /// The parts of a response, if it is well-formed.
    private func parts(_ response: ForwardedResponse) async throws -> [Part] {
        let type = try #require(response.head.headerFields[.contentType])
        #expect(response.head.status == .partialContent && response.head.headerFields[.contentRange] == nil)
        let boundary = try #require(type.split(separator: "boundary=").last.map(String.init))
        #expect(type == "multipart/byteranges; boundary=\(boundary)" && (1...70).contains(boundary.utf8.count))
        let bytes = Data(try await Bench.body(of: response).bytes)
        #expect(
            response.head.headerFields[.contentLength] == "\(bytes.count)"
                && response.body?.length == Int64(bytes.count))
        var parts: [Part] = []
        var rest = bytes
        let (line, end) = (Data("--\(boundary)\r\n".utf8), Data("--\(boundary)--\r\n".utf8))
        while rest != end {
            try #require(rest.starts(with: line))
            let head = try #require(rest.firstRange(of: Data("\r\n\r\n".utf8)))
            let lines = String(decoding: rest[rest.startIndex + line.count..<head.lowerBound], as: UTF8.self)
                .components(separatedBy: "\r\n")
            let fields = Dictionary(
                uniqueKeysWithValues: lines.map { line in
                    let colon = line.firstIndex(of: ":") ?? line.endIndex
                    return (line[..<colon].lowercased(), String(line[colon...].dropFirst(2)))
                })
            let next = try #require(
                rest.range(of: Data("\r\n--\(boundary)".utf8), in: head.upperBound..<rest.endIndex))
            parts.append(
                Part(
                    type: fields["content-type"], range: fields["content-range"],
                    bytes: Data(rest[head.upperBound..<next.lowerBound])))
            rest = Data(rest[(next.lowerBound + 2)...])
        }
        return parts
    }

    private func part(_ range: Range<Int>) -> Part {
        Part(
            type: "video/mp4", range: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.size)",
            bytes: Data(Self.bytes[range]))
    }

    @Test func `each part of a multirange response is answered, and only its blocks are requested`() async throws {
        let bench = try Bench(representation, .shared)
        let response = try await get("5-9, 5000000-5000099 ,-10", of: bench)
        #expect(response.head.headerFields[.eTag] == "\"1\"" && !response.cacheStatus.hit)
        #expect(
            try await parts(response) == [
                part(5..<10), part(5_000_000..<5_000_100), part(Self.size - 10..<Self.size),
            ])
        #expect(bench.transport.requests.count == 3)
        #expect(bench.cache.transferTotals.bytesReceived == 2 * Self.block + 1000)
        let again = try await get("5-9,5000000-5000099", of: bench)
        #expect(again.cacheStatus.hit)
        #expect(try await parts(again) == [part(5..<10), part(5_000_000..<5_000_100)])
        #expect(bench.transport.requests.count == 3)
    }

    @Test func `parts of a stored file come in the order of the request`() async throws {
        let bench = try Bench(representation, .shared)
        _ = try await bench.get(.file)
        #expect(
            try await parts(get("7000000-7000009,0-0,-1", of: bench)) == [
                part(7_000_000..<7_000_010), part(0..<1), part(Self.size - 1..<Self.size),
            ])
    }

    @Test func `ranges that cannot be satisfied are left out`() async throws {
        let bench = try Bench(representation, .shared)
        #expect(try await parts(get("99999999-,0-9,20-29", of: bench)) == [part(0..<10), part(20..<30)])
        let one = try await get("99999999-,0-9", of: bench)
        #expect(one.head.headerFields[.contentRange] == "bytes 0-9/\(Self.size)")
        #expect(try await Bench.body(of: one) == Body(Array(Self.bytes[0..<10])))
        let none = try await get("99999999-,88888888-99999999", of: bench)
        #expect(none.head.status == .rangeNotSatisfiable && none.body == nil)
    }

    @Test(arguments: [
        "0-9,5-20", "0-9,x-20", "0-9,", (0...16).map { "\($0 * 10)-\($0 * 10 + 1)" }.joined(separator: ","),
    ])
    func `ranges that overlap, are too many or invalid are ignored`(ranges: String) async throws {
        let bench = try Bench(representation, .shared)
        let response = try await get(ranges, of: bench)
        #expect(response.head.status == .ok)
        #expect(try await Bench.body(of: response) == Body(Self.bytes))
    }

    @Test func `If-Range with another version gets the whole file`() async throws {
        let bench = try Bench(representation, .shared)
        _ = try await bench.get(.file)
        let other = try await get("0-9,20-29", of: bench, [.ifRange: "\"2\""])
        #expect(other.head.status == .ok)
        #expect(try await Bench.body(of: other) == Body(Self.bytes))
        #expect(try await parts(get("0-9,20-29", of: bench, [.ifRange: "\"1\""])).count == 2)
    }

    /// Several rounds: the parts ask at once, and one may find the blocks of the first while another discards them.
    @Test(arguments: 0..<20)
    func `parts of two versions are never sent as one response`(round: Int) async throws {
        let other = ScriptedRepresentation(Self.otherBytes, etag: "\"2\"")
        let representation = representation
        // The version changes after the first request.
        let bench = try Bench(.shared) { request in
            (request.number == 1 ? representation : other).response(to: request)
        }
        let response = try await get("0-9,5000000-5000009,9000000-9000009", of: bench)
        if response.head.status == .ok {
            #expect(try await Bench.body(of: response) == Body(Self.otherBytes))
        } else {
            #expect(response.head.headerFields[.eTag] == "\"2\"")
            #expect(
                try await parts(response).map(\.bytes)
                    == [0, 5_000_000, 9_000_000].map { Data(Self.otherBytes[$0..<$0 + 10]) })
        }
    }

    @Test func `a request that must not be stored reaches the origin as it is`() async throws {
        let bench = try Bench(representation, .shared)
        _ = try await get("0-9,20-29", of: bench, [.cacheControl: "no-store"])
        #expect(bench.transport.requests.map { $0.fields[.range] } == ["bytes=0-9,20-29"])
    }

    @Test func `ranges of a file that must not be stored are one request to the origin`() async throws {
        let unstorable = ScriptedRepresentation(Self.bytes, [.cacheControl: "no-store"])
        let bench = try Bench(.shared) { request in
            let isOne = request.fields[.range]?.contains(",") != true
            return isOne
                ? unstorable.response(to: request) : ScriptedResponse(.ok, unstorable.fields, body: unstorable.bytes)
        }
        // The first tells that nothing may be stored.
        #expect(try await Bench.body(of: get("0-,600000-700000", of: bench)) == Body(Self.bytes))
        let before = bench.transport.requests.count
        for ranges in ["0-9,20-29", "0-,1-,2-,3-", "0-9999999,10000000-", "-5,-6"] {
            #expect(try await Bench.body(of: get(ranges, of: bench)) == Body(Self.bytes))
        }
        #expect(
            bench.transport.requests.dropFirst(before).map { $0.fields[.range] } == [
                "bytes=0-9,20-29", "bytes=0-,1-,2-,3-", "bytes=0-9999999,10000000-", "bytes=-5,-6",
            ])
    }

    @Test func `overlapping ranges are ignored before their bytes are requested`() async throws {
        let bench = try Bench(representation, .shared)
        let response = try await get("0-9,5000000-,5000005-,6000000-6000009,-10", of: bench)
        #expect(response.head.status == .ok)
        #expect(try await Bench.body(of: response) == Body(Self.bytes))
        // Besides the block of the first range and the rest of the whole, nothing was requested.
        let starts = bench.transport.requests.map { request in
            request.fields[.range].flatMap { Int($0.dropFirst(6).prefix { $0 != "-" }) } ?? 0
        }
        #expect(!starts.isEmpty && starts.allSatisfy { $0 <= Self.block })
    }

    @Test(arguments: ["W/\"1\"", nil])
    func `parts without a strong validator are joined only if they are from one stored file`(etag: String?)
        async throws
    {
        let weak = ScriptedRepresentation(
            Self.bytes, etag: etag, [.contentType: "video/mp4", .cacheControl: "max-age=60"])
        let bench = try Bench(weak, .shared)
        let response = try await get("5-9,5000000-5000099", of: bench)
        #expect(response.head.status == .ok)
        #expect(try await Bench.body(of: response) == Body(Self.bytes))
        _ = try await bench.get(.file)
        #expect(
            try await parts(get("5-9,5000000-5000099", of: bench)) == [part(5..<10), part(5_000_000..<5_000_100)])
    }

    @Test func `HEAD is answered without parts`() async throws {
        let bench = try Bench(representation, .shared)
        var request = ForwardRequest(Bench.url)
        request.method = .head
        request.fields[.range] = "bytes=0-9,20-29"
        let response = try await bench.cache.forward(request)
        #expect(response.head.status == .ok && response.body == nil)
    }
}
