import CacheTestSupport
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// The reason that files and images give why what was stored for them was not used.
@Suite(.timeLimit)
struct UnusedReasonTests {
    enum Product: String, Sendable, CaseIterable {
        case file, image
    }

    private static func picture() throws -> [UInt8] {
        let image = try DecodedImage(width: 8, height: 8) { pixels in
            for index in pixels.indices { pixels[index] = index % 4 == 3 ? 255 : UInt8(index) }
        }
        return try ImageEncoder.png().encode(image)
    }

    private func reason(
        _ product: Product, of request: FileRequest, from cache: DownloadCache
    ) async throws -> UnusedReason? {
        switch product {
        case .file: try await cache.file(for: request).unusedReason
        case .image: try await cache.image(for: ImageRequest(request)).unusedReason
        }
    }

    @Test(arguments: UnusedReason.allCases, Product.allCases)
    func `each reason for not using an entry is reported`(reason: UnusedReason, product: Product) async throws {
        let representation = ScriptedRepresentation(try Self.picture())
        let first = try Bench(representation)
        var request = FileRequest(Bench.url)
        if reason == .version { request.freshnessOverride = FreshnessOverride(seconds: 1000, version: "1") }
        if reason != .missing {
            let file = try await first.cache.file(for: request)
            if reason == .damaged {
                #expect(chmod(file.path, 0o600) == 0)
                try Data("short".utf8).write(to: URL(filePath: file.path))
            }
        }
        // Another process, which has nothing in memory.
        let next = try Bench(in: first.directory) { representation.response(to: $0) }
        switch reason {
        case .stale: next.advance(seconds: 10_000)
        case .clock: next.advance(seconds: -10_000)
        case .version: request.freshnessOverride?.version = "2"
        case .owner: request.owner = "ann"
        case .missing, .damaged: break
        }
        #expect(try await self.reason(product, of: request, from: next.cache) == reason)
        #expect(next.sent.count == 1)
        // Now it is used.
        #expect(try await self.reason(product, of: request, from: next.cache) == nil)
        #expect(next.sent.count == 1)
    }
}
