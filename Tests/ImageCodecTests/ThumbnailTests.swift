import Testing

@testable import ImageCodec

/// Decode, resize, encode: what a thumbnail service does.
@Suite struct ThumbnailTests {
    private let photo = "jpeg/exif-orientation-examples__Landscape_6.jpg"

    @Test func `a photo becomes a small upright JPEG with the same proportions`() throws {
        let image = try ImageDecoder().decode(Corpus.shared.source(photo), to: .fit(256, 256))
        #expect(image.width == 256 && image.height == 171)
        let bytes = try ImageEncoder.jpeg(quality: 80).encode(image)
        #expect(ImageFormat.detect(bytes) == .jpeg)
        let again = try ImageDecoder().decode(ImageSource(bytes))
        #expect(again.width == 256 && again.height == 171)
        #expect(again.meanDifference(from: image) < 6)
    }

    @Test func `a thumbnail is near the one made from all pixels`() throws {
        let source = try Corpus.shared.source(photo)
        let whole = try ImageDecoder().decode(source)
        let slow = try whole.resized(to: .fit(200, 200))
        let fast = try ImageDecoder().decode(source, to: .fit(200, 200))
        #expect(fast.width == slow.width && fast.height == slow.height)
        #expect(fast.meanDifference(from: slow) < 1.5)
    }

    @Test func `a thumbnail of a turned image is the turned thumbnail, for each of the eight orientations`() throws {
        let source = try Corpus.shared.source(photo)
        var decoder = ImageDecoder()
        decoder.appliesOrientation = false
        let stored = try decoder.decode(source, to: .fit(225, 225))
        for orientation in ImageOrientation.allCases {
            let seen = try stored.oriented(orientation)
            var sizing = ImageSizing.cover(90, 60, position: .topLeft)
            sizing.allowsEnlargement = true
            let plan = try ResizePlan(sizing, of: .init(width: seen.width, height: seen.height))
            let (scaled, window) = plan.stored(orientation)
            let direct = try stored.resized(scaled: scaled, window: window, linear: false).oriented(orientation)
            let expected = try seen.resized(to: sizing)
            #expect(direct.width == 90 && direct.height == 60)
            #expect(direct.meanDifference(from: expected) < 0.01)
        }
    }

    @Test func `kept metadata says that the image is upright`() throws {
        var decoder = ImageDecoder()
        let source = try Corpus.shared.source(photo)
        #expect(try decoder.info(source).orientation == .right)
        #expect(try ImageInfo.read(ImageSource(ImageEncoder.jpeg().encode(decoder.decode(source)))).orientation == .up)
        decoder.keepsMetadata = true
        let image = try decoder.decode(source, to: .fit(64, 64))
        let exif = try #require(image.exif)
        #expect(ExifBlock(exif).orientation == .up)
        var plain = ImageDecoder()
        plain.keepsMetadata = true
        let again = try plain.decode(ImageSource(ImageEncoder.jpeg().encode(image)))
        #expect(again.exif == exif)
    }
}

extension DecodedImage {
    /// The mean of the absolute differences of all bytes.
    func meanDifference(from other: DecodedImage) -> Double {
        guard other.width == width, other.height == height else { return .infinity }
        let sum = withUnsafeBytes { mine in
            other.withUnsafeBytes { theirs in
                var (sum, index) = (0, 0)
                while index < mine.count {
                    sum += abs(Int(mine[index]) - Int(theirs[index]))
                    index += 1
                }
                return sum
            }
        }
        return Double(sum) / Double(cost)
    }
}
