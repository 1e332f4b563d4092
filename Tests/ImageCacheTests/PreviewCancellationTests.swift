import Foundation
import Glibc
import ImageCodec
import TestSupport
import Testing

@testable import ImageCache

/// Previews that nobody waits for any more.
struct PreviewCancellationTests {
    /// Most of a progressive JPEG.
    private static func part() throws -> Data {
        let image = try DecodedImage(width: 256, height: 256) { memory in
            for index in 0..<(256 * 256 * 4) { memory[index] = index % 4 == 3 ? 255 : UInt8(index * 7 % 251) }
        }
        var options = ImageEncoder.JPEGOptions(quality: 90)
        options.isProgressive = true
        let bytes = try ImageEncoder(.jpeg(options)).encode(image)
        return Data(bytes.prefix(bytes.count * 3 / 4))
    }

    @Test func `the effects of a preview end with a cancellation of its stream`() throws {
        let directory = try TestDirectory()
        let path = directory.path("part.jpg")
        let part = try Self.part()
        try part.write(to: URL(filePath: path))
        let descriptor = open(path, O_RDONLY)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let cancellation = ImageCancellation()
        let processors = [
            ImageProcessor(identity: "cancelled meanwhile") { (image) throws(ImageCodecError) in
                cancellation.cancel()
                return image
            }
        ]
        // The reader goes away while the effect runs.
        let preview = OwnPreview(nil, processors, ImageDecoder(), cancellation)
        let error = #expect(throws: ImageCodecError.self) {
            _ = try preview.image(of: descriptor, byteCount: part.count)
        }
        #expect(error?.code == .cancelled)
        #expect(try OwnPreview(nil, processors, ImageDecoder()).image(of: descriptor, byteCount: part.count) != nil)
    }
}
