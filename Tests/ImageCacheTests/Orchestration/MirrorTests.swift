import CacheTestSupport
import ConcurrencyPrimitives
import Digests
import Foundation
import HTTPTypes
import ImageCacheTesting
import TestSupport
import Testing

@testable import ImageCache

/// A file that several origins serve.
@Suite(.timeLimit) struct MirrorTests {
    private static let size = 1_000_000
    private static let bytes = ScriptedRepresentation.bytes(size)
    private static let body = Body(bytes)
    private static let own = "http://own.example/f"
    private static let first = "http://first.example/f"
    private static let second = "http://second.example/g"

    private static func digest(_ bytes: [UInt8] = bytes) throws -> Digest {
        try #require(Digest(.sha256, try RunningDigest.digest(.sha256, of: bytes)))
    }

    private static func pieces(of length: Int) throws -> PieceDigests {
        let digests = try stride(from: 0, to: size, by: length).map {
            try RunningDigest.digest(.sha256, of: Array(bytes[$0..<min(size, $0 + length)]))
        }
        return try #require(PieceDigests(.sha256, length: Int64(length), digests))
    }

    private static func representation(_ url: String, _ bytes: [UInt8] = bytes) -> ScriptedRepresentation {
        // Another tag at each origin, as servers have it.
        ScriptedRepresentation(bytes, etag: "\"\(url.hashValue)\"")
    }

    /// `changed` bytes at a place.
    private static func damaged(at offsets: Int...) -> [UInt8] {
        var damaged = bytes
        for offset in offsets { damaged[offset] ^= 0xFF }
        return damaged
    }

    private func request(mirrors: [Mirror] = [Mirror(first, priority: 2), Mirror(second, priority: 3)]) -> FileRequest {
        var request = FileRequest(Self.own)
        request.mirrors = mirrors
        request.transfer.retry.baseDelay = .zero
        return request
    }

    private func failure(of request: FileRequest, _ bench: Bench) async -> ImageCacheError? {
        do {
            _ = try await bench.cache.file(for: request)
            return nil
        } catch {
            return error
        }
    }

    private func events(_ request: inout FileRequest) -> Locked<[MirrorEvent]> {
        let events = Locked<[MirrorEvent]>([])
        request.mirrorEvents = { event in events.withLock { $0.append(event) } }
        return events
    }

    @Test(arguments: [
        ScriptedResponse.failure(.connect), ScriptedResponse(.notFound), ScriptedResponse(.serviceUnavailable),
    ])
    func `the next mirror serves a file that the first cannot, stored under the request's URL`(
        response: ScriptedResponse
    ) async throws {
        let bench = try Bench { $0.url == Self.second ? Self.representation($0.url).response(to: $0) : response }
        var request = request()
        let events = events(&request)
        let file = try await bench.cache.file(for: request)
        #expect(try Bench.body(of: file) == Self.body)
        #expect(file.finalURL == Self.second)
        #expect(events.withLock { $0.count } == 2)
        let asked = bench.transport.requests.count
        #expect(try await bench.cache.file(for: FileRequest(Self.own)).source == .disk)
        #expect(bench.transport.requests.count == asked)
    }

    @Test func `an error status of all mirrors is reported`() async throws {
        let bench = try Bench { _ in ScriptedResponse(.notFound) }
        let request = request()
        let error = try #require(await failure(of: request, bench))
        #expect(error.code == .status(404))
        #expect(bench.transport.requests.map(\.url) == [Self.own, Self.first, Self.second])
    }

    @Test(arguments: [ScriptedResponse(.notFound), ScriptedResponse(.serviceUnavailable)])
    func `a source that broke is tried again, although mirrors answer with an error status`(
        response: ScriptedResponse
    ) async throws {
        let hasAskedAll = Locked(false)
        let bench = try Bench { request in
            if request.url == Self.second { hasAskedAll.withLock { $0 = true } }
            guard request.url == Self.own else { return response }
            return hasAskedAll.withLock { $0 }
                ? Self.representation(request.url).response(to: request) : .failure(.connect)
        }
        let file = try await bench.cache.file(for: request())
        #expect(try Bench.body(of: file) == Self.body)
        #expect(file.finalURL == Self.own)
    }

    @Test func `the status of a mirror is reported after the last round`() async throws {
        let bench = try Bench { $0.url == Self.own ? .failure(.connect) : ScriptedResponse(.serviceUnavailable) }
        var request = request()
        request.transfer.retry.maxRetries = 0
        #expect(await failure(of: request, bench)?.code == .status(503))
        #expect(bench.transport.requests.map(\.url) == [Self.own, Self.first, Self.second])
    }

    @Test(arguments: [
        ScriptedResponse(.serviceUnavailable), ScriptedResponse(.tooManyRequests), ScriptedResponse(.badGateway),
    ])
    func `mirrors that all answer with a temporary error status are tried again`(_ response: ScriptedResponse)
        async throws
    {
        // Each is asked twice in a round.
        let bench = try Bench { request in
            request.number <= 8 ? response : Self.representation(request.url).response(to: request)
        }
        let file = try await bench.cache.file(for: request())
        #expect(try Bench.body(of: file) == Self.body)
        #expect(bench.sent.count == 9)
    }

    @Test(arguments: [own, first])
    func `a source with a temporary error status is tried again in each round, although the other one lacks the file`(
        _ failing: String
    ) async throws {
        let bench = try Bench { ScriptedResponse($0.url == failing ? .serviceUnavailable : .notFound) }
        var request = request(mirrors: [Mirror(Self.first, priority: 2)])
        request.transfer.retry.maxRetries = 2
        #expect(await failure(of: request, bench)?.code == .status(503))
        // Twice in each of three rounds, and the other one once.
        #expect(bench.transport.requests.count { $0.url == failing } == 6)
        #expect(bench.sent.count == 7)
    }

    @Test(arguments: [("1", 0, 3), ("0", 2, 18), ("3600", 2, 6)])
    func `temporary error statuses of all mirrors are retried as the request and Retry-After allow`(
        _ retryAfter: String, _ retries: Int, _ requests: Int
    ) async throws {
        let bench = try Bench { _ in ScriptedResponse(.serviceUnavailable, [.retryAfter: retryAfter]) }
        var request = request()
        request.transfer.retry.maxRetries = retries
        #expect(await failure(of: request, bench)?.code == .status(503))
        #expect(bench.sent.count == requests)
    }

    @Test(arguments: [
        (ScriptedResponse(.forbidden), true), (ScriptedResponse(.serviceUnavailable), true),
        (ScriptedResponse.failure(.connect), true), (ScriptedResponse(.notFound), false),
        (ScriptedResponse(.gone), false),
    ])
    func `a mirror's 404 does not remove the stored file, but a 404 or 410 of its own origin does`(
        _ response: ScriptedResponse, _ stays: Bool
    ) async throws {
        let isChanged = Locked(false)
        let bench = try Bench { request in
            if request.url != Self.own { return ScriptedResponse(.notFound) }
            return isChanged.withLock { $0 } ? response : Self.representation(request.url).response(to: request)
        }
        _ = try await bench.cache.file(for: request())
        isChanged.withLock { $0 = true }
        var revalidation = request(mirrors: stays ? [Mirror(Self.first, priority: 2)] : [])
        revalidation.usesAnnouncedMirrors = !stays
        revalidation.policy = .reloadRevalidatingCacheData
        revalidation.transfer.retry.maxRetries = 0
        #expect(await failure(of: revalidation, bench) != nil)
        #expect(await eventually { bench.cache.running.isEmpty })
        #expect(try await bench.cache.entries().isEmpty == !stays)
    }

    @Test func `with a digest another mirror resumes the held bytes`() async throws {
        let bench = try Bench { request in
            let response = Self.representation(request.url).response(to: request)
            guard request.url == Self.own else { return response }
            return request.number == 1 ? response.cut(after: 600_000) : .failure(.connect)
        }
        var request = request()
        request.integrity.digest = try Self.digest()
        let file = try await bench.cache.file(for: request)
        #expect(try Bench.body(of: file) == Self.body)
        #expect(file.bytesTransferred == Int64(Self.size))
        let last = try #require(bench.transport.requests.last)
        #expect(last.url == Self.first && last.fields[.range] == "bytes=600000-")
        #expect(last.fields[.ifRange] == "\"\(Self.first.hashValue)\"")
    }

    @Test func `without a digest another mirror starts again`() async throws {
        let bench = try Bench { request in
            let response = Self.representation(request.url).response(to: request)
            guard request.url == Self.own else { return response }
            return request.number == 1 ? response.cut(after: 600_000) : .failure(.connect)
        }
        let file = try await bench.cache.file(for: request())
        #expect(try Bench.body(of: file) == Self.body)
        #expect(bench.transport.requests.filter { $0.url == Self.first }.allSatisfy { $0.fields[.range] == nil })
        #expect(file.bytesTransferred == Int64(Self.size) + 600_000)
    }

    @Test func `a mirror with a wrong body is not used further`() async throws {
        let wrong = Self.damaged(at: 10)
        let bench = try Bench { request in
            Self.representation(request.url, request.url == Self.second ? Self.bytes : wrong).response(to: request)
        }
        var request = request()
        request.integrity.digest = try Self.digest()
        let events = events(&request)
        let file = try await bench.cache.file(for: request)
        #expect(try Bench.body(of: file) == Self.body)
        #expect(events.withLock { $0.count } == 2)
    }

    @Test func `a wrong body from several mirrors is fetched again from each mirror alone`() async throws {
        let wrong = Self.damaged(at: 10)
        let bench = try Bench { request in
            let isOwn = request.url == Self.own
            let response = Self.representation(request.url, isOwn ? wrong : Self.bytes).response(to: request)
            return isOwn ? (request.number == 1 ? response.cut(after: 600_000) : .failure(.connect)) : response
        }
        var request = request()
        request.integrity.digest = try Self.digest()
        let file = try await bench.cache.file(for: request)
        #expect(try Bench.body(of: file) == Self.body)
        let ranges = bench.transport.requests.map { $0.fields[.range] }
        #expect(ranges.contains("bytes=600000-") && ranges.last == .some(nil))
    }

    @Test func `a body that is wrong everywhere is not stored`() async throws {
        let bench = try Bench { Self.representation($0.url, Self.damaged(at: 10)).response(to: $0) }
        var request = request()
        request.integrity.digest = try Self.digest()
        let error = try #require(await failure(of: request, bench))
        #expect(error.code == .wrongBytes)
        #expect(try await bench.cache.storedFile(for: FileRequest(Self.own)) == nil)
        #expect(bench.transport.requests.count == 3)
    }

    @Test(arguments: [[10], [300_000, 999_999], [0, 262_144, 524_288]])
    func `a bad piece alone is fetched again, from another mirror`(places: [Int]) async throws {
        var wrong = Self.bytes
        for place in places { wrong[place] ^= 0xFF }
        let bench = try Bench { [wrong] request in
            Self.representation(request.url, request.url == Self.own ? wrong : Self.bytes).response(to: request)
        }
        var request = request()
        request.integrity.digest = try Self.digest()
        request.integrity.pieces = try Self.pieces(of: 100_000)
        let events = events(&request)
        let file = try await bench.cache.file(for: request)
        #expect(try Bench.body(of: file) == Self.body)
        let bad = events.withLock { events in
            events.compactMap { if case .badPiece(Self.own, let index, _) = $0 { index } else { nil } }
        }
        #expect(bad == places.map { $0 / 100_000 })
        let repairs = bench.transport.requests.filter { $0.url == Self.first && $0.method == .get }
        #expect(
            repairs.prefix(places.count).map { $0.fields[.range] }
                == places.map {
                    let start = $0 / 100_000 * 100_000
                    return "bytes=\(start)-\(start + 99_999)"
                })
    }

    @Test func `a body of unknown length that was cut behind its last piece is complete`() async throws {
        let bench = try Bench { request in
            let representation = Self.representation(request.url)
            if request.number > 1 { return representation.response(to: request) }
            let fields: HTTPFields = [.eTag: representation.etag ?? "", .cacheControl: "max-age=60"]
            return ScriptedResponse(.ok, fields, steps: [.bytes(Self.bytes), .cut], length: nil)
        }
        var request = request(mirrors: [])
        request.integrity.pieces = try Self.pieces(of: 300_000)
        let file = try await bench.cache.file(for: request)
        #expect(try Bench.body(of: file) == Self.body)
        #expect(bench.transport.requests.map { $0.fields[.range] } == [nil, "bytes=\(Self.size)-"])
    }

    @Test func `a bad piece of the only origin is asked for once more`() async throws {
        let bench = try Bench { request in
            Self.representation(request.url, request.number == 1 ? Self.damaged(at: 550_000) : Self.bytes)
                .response(to: request)
        }
        var request = request(mirrors: [])
        request.integrity.pieces = try Self.pieces(of: 100_000)
        let file = try await bench.cache.file(for: request)
        #expect(try Bench.body(of: file) == Self.body)
        #expect(bench.transport.requests.map { $0.fields[.range] } == [nil, "bytes=500000-599999", "bytes=600000-"])
    }

    @Test func `a body of another length is refused before it is read`() async throws {
        let bench = try Bench { Self.representation($0.url).response(to: $0) }
        var request = request(mirrors: [])
        request.integrity.size = 12
        let error = try #require(await failure(of: request, bench))
        #expect(error.code == .wrongBytes && error.message.contains("\(Self.size) bytes, not 12"), "\(error)")
    }

    @Test func `credentials go to the request's own origin only`() async throws {
        let bench = try Bench {
            $0.url == Self.first ? Self.representation($0.url).response(to: $0) : .failure(.connect)
        }
        var request = request()
        request.fields[.authorization] = "Bearer secret"
        request.fields[.accept] = "x/y"
        request.transfer.credentials = .init(user: "a", password: "b")
        _ = try await bench.cache.file(for: request)
        let (own, mirror) = (try #require(bench.transport.requests.first), try #require(bench.transport.requests.last))
        #expect(own.fields[.authorization] != nil && own.options.credentials != nil)
        #expect(mirror.url == Self.first && mirror.fields[.authorization] == nil && mirror.options.credentials == nil)
        #expect(mirror.fields[.accept] == "x/y")
    }

    @Test func `mirrors that the origin announces are used when it fails`() async throws {
        let sum = Data(try Self.digest().bytes).base64EncodedString()
        let (link, digest) = (try #require(HTTPField.Name("Link")), try #require(HTTPField.Name("Repr-Digest")))
        let bench = try Bench { request in
            var representation = Self.representation(request.url)
            guard request.url == Self.own else { return representation.response(to: request) }
            guard request.number == 1 else { return .failure(.connect) }
            representation.fields[digest] = "sha-256=:\(sum):"
            representation.fields[link] =
                "<http://no.example/x>; rel=next, <//second.example/g>; rel=duplicate; pri=2, "
                + "<http://first.example/f>; pri=1; rel=\"duplicate\""
            return representation.response(to: request).cut(after: 600_000)
        }
        var request = request(mirrors: [])
        request.usesAnnouncedMirrors = true
        let file = try await bench.cache.file(for: request)
        #expect(try Bench.body(of: file) == Self.body)
        let last = try #require(bench.transport.requests.last)
        #expect(last.url == Self.first && last.fields[.range] == "bytes=600000-")
    }

    @Test func `mirrors that announce further mirrors without end are given up`() async throws {
        let sum = Data(try Self.digest().bytes).base64EncodedString()
        let (link, digest) = (try #require(HTTPField.Name("Link")), try #require(HTTPField.Name("Repr-Digest")))
        let bench = try Bench { request in
            var representation = Self.representation(request.url)
            representation.fields[digest] = "sha-256=:\(sum):"
            representation.fields[link] = "<http://m\(request.number).example/f>; rel=duplicate"
            return representation.response(to: request).cut(after: 0)
        }
        var request = request(mirrors: [])
        request.usesAnnouncedMirrors = true
        request.transfer.retry.maxRetries = 1
        await #expect(throws: ImageCacheError.self) { try await bench.cache.file(for: request) }
        #expect((50..<500).contains(bench.transport.requests.count))
    }

    /// A bench whose origin announces a mirror, and breaks its connection.
    private static func announcing(_ fields: HTTPFields, mirror: ScriptedResponse? = nil) throws -> Bench {
        let link = try #require(HTTPField.Name("Link"))
        return try Bench { request in
            var representation = representation(request.url)
            guard request.url == own else { return mirror ?? representation.response(to: request) }
            guard request.number == 1 else { return .failure(.connect) }
            for field in fields { representation.fields[field.name] = field.value }
            representation.fields[link] = "<\(first)>; rel=duplicate"
            return representation.response(to: request).cut(after: 600_000)
        }
    }

    private static func announced() -> FileRequest {
        var request = FileRequest(own)
        request.usesAnnouncedMirrors = true
        request.transfer.retry.baseDelay = .zero
        request.transfer.retry.maxRetries = 1
        return request
    }

    @Test(arguments: [nil, "md5=:AAAAAAAAAAAAAAAAAAAAAA==:", "sha-256=:AAAA:", "sha-256=1"])
    func `announced mirrors are not asked if no digest can verify what they send`(_ field: String?) async throws {
        let digest = try #require(HTTPField.Name("Repr-Digest"))
        let bench = try Self.announcing(field.map { [digest: $0] } ?? [:])
        #expect(await failure(of: Self.announced(), bench)?.code == .unreachable)
        #expect(!bench.transport.requests.isEmpty && bench.transport.requests.allSatisfy { $0.url == Self.own })
        #expect(try await bench.cache.storedFile(for: FileRequest(Self.own)) == nil)
    }

    @Test func `a SHA-1 of the request, which may be forged, does not let announced mirrors be asked`() async throws {
        let digest = try #require(HTTPField.Name("Repr-Digest"))
        let sum = Data(try Self.digest().bytes).base64EncodedString()
        let bench = try Self.announcing([digest: "sha-256=:\(sum):"])
        var request = Self.announced()
        request.integrity.digest = Digest(.sha1, try RunningDigest.digest(.sha1, of: Self.bytes))
        #expect(await failure(of: request, bench)?.code == .unreachable)
        #expect(bench.transport.requests.allSatisfy { $0.url == Self.own })
    }

    @Test func `the digest of the request lets announced mirrors be asked`() async throws {
        let bench = try Self.announcing([:])
        var request = Self.announced()
        request.integrity.digest = try Self.digest()
        #expect(try Bench.body(of: await bench.cache.file(for: request)) == Self.body)
        #expect(bench.transport.requests.last?.url == Self.first)
    }

    @Test(arguments: [false, true])
    func `a body of an announced mirror is verified by the origin's digest, not by its own`(
        _ hasOwn: Bool
    ) async throws {
        let wrong = Self.damaged(at: 10)
        let digest = try #require(HTTPField.Name("Repr-Digest"))
        func text(_ bytes: [UInt8]) throws -> String {
            "sha-256=:\(Data(try Self.digest(bytes).bytes).base64EncodedString()):"
        }
        // The mirror ignores ranges.
        let fields: HTTPFields = hasOwn ? [digest: try text(wrong)] : [:]
        let bench = try Self.announcing(
            [digest: try text(Self.bytes)], mirror: ScriptedResponse(.ok, fields, body: wrong))
        #expect(await failure(of: Self.announced(), bench) != nil)
        #expect(bench.transport.requests.contains { $0.url == Self.first })
        #expect(try await bench.cache.storedFile(for: FileRequest(Self.own)) == nil)
    }

    @Test func `secret fields go to the request's own origin only`() async throws {
        let digest = try #require(HTTPField.Name("Repr-Digest"))
        let sum = Data(try Self.digest().bytes).base64EncodedString()
        let bench = try Self.announcing([digest: "sha-256=:\(sum):"])
        var request = Self.announced()
        let secrets = try ["X-Api-Key", "Private-Token", "Cookie", "X-Amz-Security-Token", "Authorization"].map {
            try #require(HTTPField.Name($0))
        }
        for name in secrets { request.fields[name] = "secret" }
        request.fields[.accept] = "x/y"
        _ = try await bench.cache.file(for: request)
        let (own, mirror) = (try #require(bench.transport.requests.first), try #require(bench.transport.requests.last))
        #expect(mirror.url == Self.first && mirror.fields[.accept] == "x/y")
        for name in secrets { #expect(own.fields[name] != nil && mirror.fields[name] == nil, "\(name)") }
    }

    @Test func `the fastest of equally preferred origins is chosen after all have been measured`() {
        let rates = OriginRates()
        let mirrors = [Mirror("http://a/x"), Mirror("http://b/x"), Mirror("http://c/x", priority: 2)]
        #expect(rates.ordered(mirrors).map(\.url) == mirrors.map(\.url))
        rates.begin("http://a/1")
        #expect(rates.ordered(mirrors).map(\.url) == ["http://b/x", "http://a/x", "http://c/x"])
        rates.end("http://a/1", bytes: 1 << 20, seconds: 1, failed: false)
        rates.begin("http://b/1")
        rates.end("http://b/1", bytes: 1 << 20, seconds: 0.5, failed: false)
        #expect(rates.ordered(mirrors).map(\.url) == ["http://b/x", "http://a/x", "http://c/x"])
        rates.begin("http://b/2")
        rates.end("http://b/2", bytes: 0, seconds: 1, failed: true)
        #expect(rates.ordered(mirrors).map(\.url) == ["http://a/x", "http://c/x", "http://b/x"])
    }
}
