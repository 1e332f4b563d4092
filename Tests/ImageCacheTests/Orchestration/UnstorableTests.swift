import CacheTestSupport
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Responses that must not be stored.
@Suite(.timeLimit) struct UnstorableTests {
    static let fields: [HTTPFields] = [
        [.cacheControl: "no-store"], [.cacheControl: "private, max-age=60"], [.cacheControl: "max-age=60", .vary: "*"],
    ]
    private static let body = Body(ScriptedRepresentation.bytes(400_000))
    private var bytes: [UInt8] { Self.body.bytes }

    private func bench(_ fields: HTTPFields) throws -> Bench {
        try Bench(ScriptedRepresentation(bytes, fields), .shared)
    }

    @Test(arguments: fields)
    func `a proxy forwards an unstorable response to each request`(_ fields: HTTPFields) async throws {
        let bench = try bench(fields)
        for _ in 0..<3 {
            let outcome = try await bench.get(.proxied)
            #expect(outcome.body == Self.body && !outcome.status.stored && !outcome.status.hit)
        }
        #expect(bench.sent.count == 3)
        #expect(try await bench.cache.entries().isEmpty)
    }

    @Test(arguments: fields.prefix(2))
    func `an unstorable file is delivered and deleted afterwards`(_ fields: HTTPFields) async throws {
        let bench = try bench(fields)
        var file: CachedFile? = try await bench.cache.file(for: bench.request())
        let path = try #require(file?.path)
        #expect(file?.isStored == false && FileManager.default.fileExists(atPath: path))
        file = nil
        // The thread that fetched it may release it a moment later.
        #expect(await eventually { !FileManager.default.fileExists(atPath: path) })
        #expect(try await bench.cache.entries().isEmpty)
    }

    @Test(arguments: fields.prefix(2))
    func `an unstorable file is refused before its body if it must be stored`(_ fields: HTTPFields) async throws {
        let bench = try bench(fields)
        #expect(await bench.failure(.file) { $0.noStoreBehavior = .fail } == .notStorable)
        #expect(bench.transport.totals.bytesReceived == 0)
    }

    @Test(arguments: [(FileRequest.NoStoreBehavior.deliver, nil), (.deliverKeepingPartial, "bytes=300000-" as String?)])
    func `a partial of an unstorable response is kept only on request`(
        _ unstorable: FileRequest.NoStoreBehavior, _ range: String?
    ) async throws {
        let representation = ScriptedRepresentation(bytes, [.cacheControl: "no-store"])
        let bench = try Bench { request in
            let response = representation.response(to: request)
            return request.number == 1 ? response.cut(after: 300_000) : response
        }
        let code = await bench.failure(.file) { request in
            request.noStoreBehavior = unstorable
            request.transfer.retry.maxRetries = 0
        }
        #expect(code == .unreachable)
        #expect(try await bench.get(.file) { $0.noStoreBehavior = unstorable }.body == Self.body)
        #expect(bench.transport.requests.last?.fields[.range] == range)
    }

    @Test func `a private response does not prevent others from being stored`() async throws {
        let bench = try Bench(.shared) { request in
            let isOwn = request.fields[.cookie] != nil
            return ScriptedRepresentation([isOwn ? 1 : 2], [.cacheControl: isOwn ? "private" : "max-age=60"])
                .response(to: request)
        }
        #expect(try await bench.get(.proxied) { $0.fields[.cookie] = "a" }.body == [1])
        for _ in 0..<2 { #expect(try await bench.get(.proxied).body == [2]) }
        #expect(bench.sent.count == 2)
    }

    @Test(arguments: [[.cacheControl: "private"], Self.heuristic])
    func `requests do not wait for each other while responses are private, or are not stored for their cookie`(
        _ fields: HTTPFields
    ) async throws {
        let gate = AsyncGate()
        let bench = try Bench(.shared) { request in
            let response = ScriptedResponse(.ok, fields, body: [1, 2, 3])
            return request.fields[.cookie] == "slow" ? response.after(gate) : response
        }
        _ = try await bench.get(.proxied) { $0.fields[.cookie] = "a" }
        async let slow = bench.get(.proxied) { $0.fields[.cookie] = "slow" }
        await bench.transport.requests { $0.count == 2 }
        #expect(try await bench.get(.proxied) { $0.fields[.cookie] = "quick" }.body == [1, 2, 3])
        gate.open()
        #expect(try await slow.body == [1, 2, 3])
    }

    /// A response that a shared cache stores, unless its request has a cookie: nothing says for how long it is fresh.
    private static let heuristic: HTTPFields = [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"]

    @Test(arguments: [nil, "bytes=0-9"])
    func `a request with a cookie does not keep others' ranges out of the store`(_ range: String?) async throws {
        let bench = try bench(Self.heuristic)
        let own = try await bench.get(.proxied) { request in
            request.fields[.cookie] = "a"
            request.fields[.range] = range
        }
        #expect(!own.status.stored && !own.status.hit)
        #expect(try await bench.cache.entries().isEmpty)
        let first = try await bench.get(.proxied) { $0.fields[.range] = "bytes=0-9" }
        #expect(first.code == 206 && first.body == Body(Array(bytes[0..<10])))
        for part in ["bytes=0-9", "bytes=5-20"] {
            #expect(try await bench.get(.proxied) { $0.fields[.range] = part }.status.hit)
        }
    }

    @Test func `a range is requested as a range after an unstorable response`() async throws {
        let bench = try bench([.cacheControl: "no-store"])
        _ = try await bench.get(.proxied)
        let outcome = try await bench.get(.proxied) { $0.fields[.range] = "bytes=0-9" }
        #expect(outcome.code == 206 && outcome.body == Body(Array(bytes[0..<10])))
        #expect(bench.transport.requests.last?.fields[.range] == "bytes=0-9")
    }

    @Test func `the reader sets the pace of a response that bypasses the store`() async throws {
        let piece = ScriptedRepresentation.bytes(200_000)
        let bench = try Bench { _ in
            ScriptedResponse(
                .ok, [.cacheControl: "no-store"], steps: Array(repeating: .bytes(piece), count: 20), length: 4_000_000)
        }
        let answer = try await bench.cache.forward(bench.request())
        #expect(bench.transport.totals.bytesReceived <= 800_000)
        #expect(try await Bench.body(of: answer).bytes.count == 4_000_000)
    }

    @Test(arguments: [false, true], ["private", "no-store"])
    func `a resumed response that has become unstorable is not shared`(
        _ joinsBeforeHead: Bool, _ said: String
    ) async throws {
        let gate = AsyncGate()
        let bytes = bytes
        let bench = try Bench(.shared) { request in
            let isFirst = request.number == 1
            let response = ScriptedRepresentation(bytes, [.cacheControl: isFirst ? "max-age=60" : said])
                .response(to: request)
            switch request.number {
            case 1: return response.cut(after: 300_000)
            case 2: return joinsBeforeHead ? response.after(gate) : response.pausing(after: 10_000, for: gate)
            default: return response
            }
        }
        #expect(await bench.failure(.file) { $0.transfer.retry.maxRetries = 0 } == .unreachable)
        async let first = bench.get(.proxied)
        await gate.reached()
        async let second = bench.get(.proxied)
        if joinsBeforeHead { gate.open() }
        await bench.transport.requests { $0.count == 3 }
        gate.open()
        for outcome in try await [first, second] {
            #expect(outcome.body == Self.body && !outcome.status.stored && !outcome.status.collapsed)
        }
        #expect(bench.transport.requests[1].fields[.range] == "bytes=300000-")
        #expect(try await bench.cache.entries().isEmpty)
    }
}
