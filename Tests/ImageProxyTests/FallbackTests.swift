import FoundationEssentials
import HTTPServer
import ImageCache
import Testing

@testable import ImageProxy

@Suite("Fallback images")
struct FallbackTests {
    @Test func `a fallback image must have a supported format`() throws {
        let pixel = try DecodedImage(width: 1, height: 1) { $0[3] = 255 }
        let png = try ImageEncoder.png().encode(pixel)
        #expect(FallbackImages.File(png)?.format == .png)
        #expect(FallbackImages.File(Array(png.prefix(12))) == nil)
        #expect(FallbackImages.File(Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8)) == nil)
        var fallbacks = FallbackImages()
        #expect(fallbacks.file(for: 404) == nil)
        fallbacks.general = FallbackImages.File(png)
        fallbacks.byStatus[410] = FallbackImages.File(try ImageEncoder.jpeg().encode(pixel))
        #expect(fallbacks.file(for: 404)?.format == .png && fallbacks.file(for: 410)?.format == .jpeg)
        #expect(fallbacks.file(for: 403) == nil && fallbacks.file(for: 400) == nil)
    }
}
