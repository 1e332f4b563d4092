import CacheTestSupport
import ImageCacheTesting
import ImageCodec
import TestSupport
import Testing

@testable import ImageCache

@Suite("Decoded rows that are kept for further sizes")
struct RowMemoryTests {
    @Test func `decoded rows are kept from the second decode on, for the most recent originals`() async throws {
        let picture = try DecodedImage(width: 1024, height: 1024) { pixels in
            pixels.initializeMemory(as: UInt8.self, repeating: 200)
        }
        let representation = ScriptedRepresentation(try ImageEncoder.jpeg().encode(picture))
        let bench = try Bench(representation)
        let most = RowMemory.mostKept

        /// The decodes that an image in this size takes; all sizes here are made from the original at an eighth.
        func decodes(_ original: Int, _ width: Int) async throws -> Int {
            let before = bench.cache.imageStatistics.decodes
            _ = try await bench.cache.image(for: "\(Bench.url)/\(original)", resizedTo: .fit(width, width))
            return bench.cache.imageStatistics.decodes - before
        }

        for original in 0...most {
            #expect(try await decodes(original, 10) == 1)
            #expect(try await decodes(original, 11) == 1)
            // The first one is used again, and stays.
            #expect(try await decodes(0, 12 + original) == 0, "\(original)")
        }
        #expect(try await decodes(1, 12) == 1)
        for original in 5...most { #expect(try await decodes(original, 13) == 0, "\(original)") }
    }
}
