import CacheTestSupport
import ConcurrencyPrimitives
import Digests
import Foundation
import ImageCacheTesting
import TestSupport
import Testing

@testable import ImageCache

/// Requests for bodies that come from mirrors, and must have a length, pieces or a digest: the same for every consumer.
@Suite(.timeLimit) struct ImageIntegrityTests {
    private static let own = Bench.url
    private static let mirror = "http://mirror.example/a"

    /// A consumer of a body.
    enum Consumer: String, CaseIterable, CustomTestStringConvertible {
        case file, image, thumbnail, frames, task, data, value, prefetch, imagePrefetch, batch, response, proxied

        var testDescription: String { rawValue }

        func get(_ request: FileRequest, from cache: DownloadCache) async throws {
            let image = ImageRequest(request, .fit(8, 8))
            switch self {
            case .file: _ = try await cache.file(for: request)
            case .image: _ = try await cache.image(for: image)
            case .thumbnail: _ = try await cache.thumbnail(for: image)
            case .frames: _ = try await cache.animation(for: image)
            case .task: _ = try await cache.imageTask(for: image).image
            case .data: _ = try await cache.data(for: request)
            case .value: _ = try await cache.value(for: request) { [UInt8]($0.data) }
            case .prefetch: try await Self.finish(cache.prefetch([request]))
            case .imagePrefetch: try await Self.finish(cache.prefetchImages([image]))
            case .batch: _ = try await cache.files(for: [request]).files()
            case .response: _ = try await cache.response(for: request)
            case .proxied: _ = try await Bench.body(of: cache.forward(request))
            }
        }

        private static func finish(_ prefetch: Prefetch) async throws {
            await prefetch.finish()
            if let failure = prefetch.failures.first { throw failure.error }
        }
    }

    /// An expectation that a stored body does not meet.
    enum Demand: CaseIterable {
        case digest, size, pieces

        func make(of request: inout FileRequest, _ bytes: [UInt8]) throws {
            switch self {
            case .digest: request.integrity.digest = Digest(.sha256, try RunningDigest.digest(.sha256, of: bytes))
            case .size: request.integrity.size = Int64(bytes.count)
            case .pieces: request.integrity.pieces = try ImageIntegrityTests.pieces(of: bytes, length: 100)
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
    func `a damaged piece is repaired for every waiter for the original, whichever began`(
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

    @Test(arguments: Consumer.allCases)
    func `a body of another length is refused at its end when the head does not tell its length`(
        _ consumer: Consumer
    ) async throws {
        let picture = try Bench.picture()
        let bench = try Bench { _ in
            ScriptedResponse(.ok, [.cacheControl: "max-age=60"], steps: [.bytes(picture)], length: nil)
        }
        let request = Self.request { $0.integrity.size = Int64(picture.count) - 1 }
        await #expect(throws: (any Error).self) { try await consumer.get(request, from: bench.cache) }
        #expect(try await bench.cache.storedFile(for: FileRequest(Self.own)) == nil)
    }

    @Test(arguments: Consumer.allCases)
    func `a body that was cut is resumed`(_ consumer: Consumer) async throws {
        let picture = try Bench.picture()
        let bench = try Bench { request in
            let response = ScriptedRepresentation(picture).response(to: request)
            return request.number == 1 ? response.cut(after: 150) : response
        }
        let request = Self.request {
            $0.transfer.retry.maxRetries = 1
            $0.transfer.retry.baseDelay = .zero
        }
        try await consumer.get(request, from: bench.cache)
        #expect(bench.transport.requests.map { $0.fields[.range] } == [nil, "bytes=150-"])
    }

    @Test(arguments: Demand.allCases)
    func `a stored body that is not the expected one does not answer`(_ demand: Demand) async throws {
        let picture = try Bench.picture()
        let bench = try Bench { request in
            ScriptedRepresentation(request.number == 1 ? [0] + picture : picture).response(to: request)
        }
        _ = try await bench.cache.file(for: Self.request())
        var request = Self.request()
        try demand.make(of: &request, picture)
        #expect(try Bench.body(of: try await bench.cache.file(for: request)) == Body(picture))
        #expect(try await bench.cache.file(for: request).source == .disk)
        #expect(bench.transport.requests.count == 2)
    }

    @Test(arguments: Demand.allCases)
    func `a thumbnail of an evicted original answers no request that expects the original's bytes`(
        _ demand: Demand
    ) async throws {
        let picture = try Bench.picture()
        let bench = try Bench(ScriptedRepresentation(picture))
        var image = ImageRequest(Self.request(), .fit(8, 8))
        image.storing = .processedOnly
        _ = try await bench.cache.thumbnail(for: image)
        try demand.make(of: &image.file, Array(picture.dropLast()))
        await #expect(throws: ImageCacheError.self) { try await bench.cache.thumbnail(for: image) }
    }

    @Test func `a forwarded body with verified pieces follows the pace of its reader`() async throws {
        let bytes = ScriptedRepresentation.bytes(4_000_000)
        let steps = stride(from: 0, to: bytes.count, by: 150_000).map {
            ScriptedResponse.Step.bytes(Array(bytes[$0..<min(bytes.count, $0 + 150_000)]))
        }
        let bench = try Bench { _ in
            ScriptedResponse(.ok, [.cacheControl: "no-store"], steps: steps, length: bytes.count)
        }
        let pieces = try Self.pieces(of: bytes, length: 400_000)
        let answer = try await bench.cache.forward(Self.request { $0.integrity.pieces = pieces })
        #expect(bench.transport.totals.bytesReceived <= 1_400_000)
        #expect(try await Bench.body(of: answer) == Body(bytes))
    }

    @Test func `an original that the store cannot take is resumed, and its pieces are repaired`() async throws {
        let picture = try Bench.picture()
        var damaged = picture
        damaged[250] ^= 0xFF
        let bench = try Bench { [damaged] request in
            let bytes = request.url == Self.own ? damaged : picture
            let response = ScriptedRepresentation(bytes).response(to: request)
            return request.number == 1 ? response.cut(after: 150) : response
        }
        let pieces = try Self.pieces(of: picture, length: 100)
        let request = Self.request {
            $0.mirrors = [Mirror(Self.mirror)]
            $0.integrity.pieces = pieces
            $0.transfer.retry.maxRetries = 1
            $0.transfer.retry.baseDelay = .zero
        }
        let file = try await UnstoredFetch(fetcher: bench.cache.fetcher).file(
            for: request, after: ImageCacheError(.store(.full), message: "no room"))
        let content = ForwardedBody.Piece.stored(descriptor: file.body.descriptor, range: 0..<file.size)
        #expect(Body(try content.bytes()) == Body(picture) && !file.isStored)
        #expect(bench.transport.requests.dropFirst().allSatisfy { $0.fields[.range] != nil })
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
