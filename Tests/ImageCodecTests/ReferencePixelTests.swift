import Testing

@testable import ImageCodec

/// Pixels on which independent decoders agree, of every still image of the corpus.
@Suite struct ReferencePixelTests {
    @Test(arguments: Corpus.shared.files("good"))
    func `every pixel of a decoded image matches independent decoders`(_ file: Corpus.File) throws {
        let expected = try #require(Corpus.shared.expectations[file.path])
        var decoder = ImageDecoder()
        decoder.color = .keepProfile
        decoder.appliesOrientation = false
        // Its only scan announces accuracy that never follows: indistinguishable from a truncated file.
        decoder.allowTruncated = file.path.hasSuffix("progressive-missing-ac.jpg")
        let source = try Corpus.shared.source(file.path)
        if expected.must_reject == true || expected.status == "none" {
            #expect(throws: ImageCodecError.self) { try decoder.decode(source) }
            return
        }
        let image: DecodedImage
        do throws(ImageCodecError) {
            image = try decoder.decode(source)
        } catch {
            // If one of the decoders displays a part, an error is acceptable. Lossless JPEG needs libjpeg-turbo 3.
            let isLossless = error.code == .unsupportedFormat && error.reason.contains("SOF type 0xc3")
            #expect(expected.status == "lenient" || isLossless, "\(error)")
            return
        }
        #expect(image.width == expected.width && image.height == expected.height)
        if image.hash != expected.sha256 { #expect(try image.withoutHiddenColors.hash == expected.sha256_a0) }
    }

    @Test(arguments: Corpus.shared.files("good").filter { ($0.orientation ?? 1) != 1 })
    func `an image with an Exif orientation is turned upright`(_ file: Corpus.File) throws {
        let expected = try #require(Corpus.shared.expectations[file.path]?.oriented)
        var decoder = ImageDecoder()
        decoder.color = .keepProfile
        let source = try Corpus.shared.source(file.path)
        // Only the eXIf chunk of a PNG determines its orientation, as in browsers: not XMP, not text chunks. For an AVIF, only the
        // container does.
        let info = try decoder.info(source)
        if info.format == .png || info.format == .avif, info.orientation == .up { return }
        let image = try decoder.decode(source)
        #expect(image.width == expected.width && image.height == expected.height)
        #expect(image.hash == expected.sha256)
    }
}

extension DecodedImage {
    var hash: String? { withUnsafeBytes { SHA256.hex($0) } }

    /// Fully transparent pixels without their colour.
    var withoutHiddenColors: DecodedImage {
        get throws {
            try DecodedImage(width: width, height: height) { pixels in
                withUnsafeBytes { pixels.copyMemory(from: $0) }
                for start in stride(from: 0, to: pixels.count, by: 4) where pixels[start + 3] == 0 {
                    for channel in 0..<3 { pixels[start + channel] = 0 }
                }
            }
        }
    }
}
