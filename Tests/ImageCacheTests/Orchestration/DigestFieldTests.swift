import CacheTestSupport
import Digests
import Foundation
import ImageCacheTesting
import TestSupport
import Testing

@testable import ImageCache

/// Digests in the fields of responses (RFC 9530).
@Suite(.timeLimit) struct DigestFieldTests {
    private static let bytes = ScriptedRepresentation.bytes(300_000)
    private static let sum = Data((try? RunningDigest.digest(.sha256, of: bytes)) ?? []).base64EncodedString()
    private static let other = Data([UInt8](repeating: 1, count: 32)).base64EncodedString()

    private func bench(_ name: String, _ value: String, cut: Int? = nil) throws -> Bench {
        let field = try #require(HTTPField.Name(name))
        return try Bench { request in
            let representation = ScriptedRepresentation(Self.bytes, [.cacheControl: "max-age=60", field: value])
            let response = representation.response(to: request)
            return request.number == 1 ? cut.map { response.cut(after: $0) } ?? response : response
        }
    }

    @Test(arguments: ["Repr-Digest", "Content-Digest"], [nil, 270_000])
    func `a digest that the response has is verified`(name: String, cut: Int?) async throws {
        let right = try bench(name, "unknown=:AAAA:, sha-256=:\(Self.sum):", cut: cut)
        #expect(try await right.get(.file).body == Body(Self.bytes))
        let wrong = try bench(name, "sha-256=:\(Self.other):", cut: cut)
        #expect(await wrong.failure(.file) == .wrongBytes)
        #expect(try await wrong.cache.storedFile(for: wrong.request()) == nil)
    }

    @Test(arguments: ["sha-256=abc", "sha-256=:AAAA:", "md5=:AAAA:", "sha-256", ":::", ""])
    func `an invalid digest field is ignored`(value: String) async throws {
        let bench = try bench("Repr-Digest", value)
        #expect(try await bench.get(.file).body == Body(Self.bytes))
        #expect(await bench.failure(.file) { $0.integrity.requiresDigest = true } == .wrongBytes)
    }

    @Test func `a digest field that is too long to be read is ignored`() async throws {
        let many = (0..<3000).map { "k\($0)=1" }.joined(separator: ",")
        let bench = try bench("Repr-Digest", "\(many), sha-256=:\(Self.other):")
        #expect(try await bench.get(.file).body == Body(Self.bytes))
    }

    @Test func `a digest is requested or required if the request says so`() async throws {
        let bench = try Bench(ScriptedRepresentation(Self.bytes))
        #expect(await bench.failure(.file) { $0.integrity.requiresDigest = true } == .wrongBytes)
        #expect(try await bench.get(.file) { $0.integrity.asksForDigest = true }.body == Body(Self.bytes))
        let want = try #require(HTTPField.Name("Want-Repr-Digest"))
        #expect(bench.transport.requests.map { $0.fields[want] != nil } == [false, true])
        let announced = try self.bench("Repr-Digest", "sha-256=:\(Self.sum):")
        for _ in 0..<2 {
            #expect(try await announced.get(.file) { $0.integrity.requiresDigest = true }.body == Body(Self.bytes))
        }
        #expect(announced.sent.count == 1)
    }

    @Test(arguments: [false, true])
    func `a stored body with the announced digest answers for another URL, unless it was damaged`(
        isDamaged: Bool
    ) async throws {
        let bench = try bench("Repr-Digest", "sha-256=:\(Self.sum):")
        let first = try await bench.cache.file(for: bench.request())
        if isDamaged {
            #expect(chmod(first.path, 0o600) == 0)
            try Data(count: Self.bytes.count).write(to: URL(filePath: first.path))
        }
        var request = FileRequest(Bench.url + "2")
        request.reusesEqualBodies = true
        let file = try await bench.cache.file(for: request)
        #expect(try Bench.body(of: file) == Body(Self.bytes))
        #expect(file.isDeduplicated == !isDamaged)
        #expect(try await bench.cache.entries().count == (isDamaged ? 2 : 1))
        var owned = FileRequest(Bench.url + "3")
        owned.reusesEqualBodies = true
        owned.owner = "ann"
        #expect(try await !bench.cache.file(for: owned).isDeduplicated)
    }

    @Test(arguments: [false, true])
    func `the file of another URL answers only requests that allow it, also when it was used before`(
        isValue: Bool
    ) async throws {
        let bytes = Array(Self.bytes.prefix(1000))
        let bench = try Bench(ScriptedRepresentation(bytes))
        var first = FileRequest(Bench.url)
        first.integrity.digest = Digest(.sha256, try RunningDigest.digest(.sha256, of: bytes))
        _ = try await bench.cache.file(for: first)
        var request = FileRequest(Bench.url + "2")
        request.integrity = first.integrity
        request.reusesEqualBodies = true
        for _ in 0..<2 {
            if isValue {
                #expect(try await bench.cache.data(for: request).source == .response(.disk))
            } else {
                #expect(try await bench.cache.file(for: request).isDeduplicated)
            }
        }
        #expect(bench.sent.count == 1)
        request.reusesEqualBodies = false
        let own = try await bench.cache.file(for: request)
        #expect(own.source == .network && own.finalURL == Bench.url + "2")
        #expect(try await bench.cache.entries().count == 2)
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func `a body is verified by any algorithm`(algorithm: DigestAlgorithm) async throws {
        let bench = try Bench(ScriptedRepresentation(Self.bytes))
        let digest = try #require(Digest(algorithm, try RunningDigest.digest(algorithm, of: Self.bytes)))
        #expect(try await bench.get(.file) { $0.integrity.digest = digest }.body == Body(Self.bytes))
        let wrong = try #require(Digest(algorithm, [UInt8](repeating: 7, count: algorithm.byteCount)))
        #expect(await bench.failure(.file) { $0.integrity.digest = wrong } == .wrongBytes)
    }
}
