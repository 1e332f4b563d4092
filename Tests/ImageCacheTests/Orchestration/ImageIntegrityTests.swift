import ConcurrencyPrimitives
import Digests
import Foundation
import ImageCacheTesting
import TestSupport
import Testing

@testable import ImageCache

/// Originals of images that come from mirrors, and must have a length or pieces: as files do.
@Suite(.timeLimit) struct ImageIntegrityTests {
    private static let own = Bench.url
    private static let mirror = "http://mirror.example/a"

    /// A consumer of an original.
    enum Consumer: String, CaseIterable, CustomTestStringConvertible {
        case file, image, thumbnail, frames, task

        var testDescription: String { rawValue }

        func get(_ request: FileRequest, from cache: DownloadCache) async throws {
            let image = ImageRequest(request, .fit(8, 8))
            switch self {
            case .file: _ = try await cache.file(for: request)
            case .image: _ = try await cache.image(for: image)
            case .thumbnail: _ = try await cache.thumbnail(for: image)
            case .frames: _ = try await cache.animation(for: image)
            case .task: _ = try await cache.imageTask(for: image).image
            }
        }
    }

    static let pairs = Consumer.allCases.flatMap { consumer in
        consumer == .file ? [] : [(Consumer.file, consumer), (consumer, Consumer.file)]
    }

    private static func request(_ change: (inout FileRequest) -> Void = { _ in }) -> FileRequest {
        var request = FileRequest(own)
        request.transfer.retry.maxRetries = 0
        change(&request)
        return request
    }

    private static func pieces(of bytes: [UInt8], length: Int) throws -> PieceDigests {
        let digests = try stride(from: 0, to: bytes.count, by: length).map {
            try RunningDigest.digest(.sha256, of: Array(bytes[$0..<min(bytes.count, $0 + length)]))
        }
        return try #require(PieceDigests(.sha256, length: Int64(length), digests))
    }

    @Test(arguments: Consumer.allCases)
    func `an original comes from a mirror when its origin fails`(_ consumer: Consumer) async throws {
        let picture = try Bench.picture()
        let bench = try Bench { request in
            request.url == Self.mirror ? ScriptedRepresentation(picture).response(to: request) : .failure(.connect)
        }
        try await consumer.get(Self.request { $0.mirrors = [Mirror(Self.mirror)] }, from: bench.cache)
        #expect(bench.transport.requests.map(\.url) == [Self.own, Self.mirror])
    }

    @Test(arguments: Consumer.allCases)
    func `an original comes from a mirror that its origin announced before it failed`(_ consumer: Consumer) async throws
    {
        let picture = try Bench.picture()
        let sum = Data(try RunningDigest.digest(.sha256, of: picture)).base64EncodedString()
        let (link, digest) = (try #require(HTTPField.Name("Link")), try #require(HTTPField.Name("Repr-Digest")))
        let bench = try Bench { request in
            var representation = ScriptedRepresentation(picture)
            guard request.url == Self.own else { return representation.response(to: request) }
            representation.fields[digest] = "sha-256=:\(sum):"
            representation.fields[link] = "<\(Self.mirror)>; rel=duplicate"
            return representation.response(to: request).cut(after: 100)
        }
        try await consumer.get(Self.request { $0.usesAnnouncedMirrors = true }, from: bench.cache)
        #expect(bench.transport.requests.last?.url == Self.mirror)
    }

    @Test(arguments: Consumer.allCases)
    func `an original of another length is refused`(_ consumer: Consumer) async throws {
        let picture = try Bench.picture()
        let bench = try Bench { ScriptedRepresentation(picture).response(to: $0) }
        let request = Self.request { $0.integrity.size = Int64(picture.count) - 1 }
        let error = await #expect(throws: ImageCacheError.self) { try await consumer.get(request, from: bench.cache) }
        #expect(error?.code == .wrongBytes)
        #expect(try await bench.cache.storedFile(for: FileRequest(Self.own)) == nil)
    }

    @Test(arguments: pairs)
    func `a damaged piece is repaired for all who wait for the original, whoever began`(
        _ pair: (Consumer, Consumer)
    ) async throws {
        let gate = AsyncGate()
        let picture = try Bench.picture()
        var damaged = picture
        damaged[picture.count / 2] ^= 0xFF
        let bench = try Bench { [damaged] request in
            let bytes = request.url == Self.own ? damaged : picture
            let response = ScriptedRepresentation(bytes).response(to: request)
            return request.number == 1 ? response.after(gate) : response
        }
        let pieces = try Self.pieces(of: picture, length: 100)
        let request = Self.request {
            $0.mirrors = [Mirror(Self.mirror)]
            $0.integrity.pieces = pieces
        }
        async let first: Void = pair.0.get(request, from: bench.cache)
        await gate.reached()
        async let second: Void = pair.1.get(request, from: bench.cache)
        gate.open()
        try await first
        try await second
        let stored = try #require(try await bench.cache.storedFile(for: FileRequest(Self.own)))
        #expect(try Bench.body(of: stored) == Body(picture))
        #expect(bench.transport.requests.contains { $0.url == Self.mirror })
    }

    @Test func `an image in memory answers no request for an original with another digest or length`() throws {
        let digest = try #require(Digest(.sha256, try RunningDigest.digest(.sha256, of: [])))
        let requests = [
            Self.request(), Self.request { $0.integrity.digest = digest }, Self.request { $0.integrity.size = 1 },
        ]
        #expect(Set(requests.map { ImageKey(ImageRequest($0), .pixels, by: CacheRules()) }).count == requests.count)
        #expect(Set(requests.map { ValueMemory.Key($0, as: Int.self, by: CacheRules()) }).count == requests.count)
    }
}
