import FoundationEssentials
import ImageCodec
import ImageEffects
import Testing

/// The expected texts come from the packages thumbhash 0.1.2 and blurhash 1.1.5 of PyPI, ports of the published implementations, for
/// the same pixels on white. None of the images is symmetric: a term that is zero lies on the border of two levels, where the order of
/// summation decides.
@Suite("Placeholders")
struct PlaceholderTests {
    struct Sample: Sendable {
        let kind: String
        let width: Int
        let height: Int
        let thumbHash: String
        let blurHash: String
    }

    static let samples: [Sample] = [
        ("gradient", 40, 100, "W/kNKxqCgIh4d3eHcHgH94g=", "T#H2iC2owxhja#fQgefjfQi{a|fQ"),
        ("waves", 64, 48, "XQgCFYAjJARCZodjdziGc8+vzY9j", "L4H2G;-IVU-K%8NVnLjDR^WROUV{"),
        ("waves", 99, 100, "XggCDwAAIyNAVGVRdDZkFmZi8/7rdvsK", "T2H2K0%9Rx$?nKn2i?X0NE%UR#O*"),
        ("disc", 64, 64, "2iqHFQIsBlmCeYWGaDZ/pnoHB1eHiIB0WA==", "LaPfsJs;p{tQt6fQfRfQuij[pcj["),
        ("disc", 90, 51, "1wqHE4RICJaGeXYIe2VwWAeIh3iFeHg=", "L[Q8PpkBuijuoffQfRfQpIfQaKfQ"),
        ("disc", 33, 100, "1fmGCgY1ZocIiMdmeIB2B2d4h4iAicc=", "TuQSC{ofkqoffQfQuifja0offQfP"),
        ("gradient", 100, 3, "1VkOMZqAh4eCh4eIdXAH+Ic=", "L#HKE$2U$6Se:rJjsVWod^f7fQf7"),
        ("waves", 3, 100, "GBoGOQSAsEiHd3Zoj1xm1/Y=", "TVG[lT~dkNnLj^g4ZqVuniS^WEaO"),
    ].map { Sample(kind: $0.0, width: $0.1, height: $0.2, thumbHash: $0.3, blurHash: $0.4) }

    private func image(_ kind: String, _ width: Int, _ height: Int) throws -> DecodedImage {
        try DecodedImage(width: width, height: height) { memory in
            for y in 0..<height {
                for x in 0..<width {
                    let pixel = Self.pixel(kind, x, y, width, height)
                    for channel in 0..<4 { memory[(y * width + x) * 4 + channel] = UInt8(pixel[channel]) }
                }
            }
        }
    }

    private static func pixel(_ kind: String, _ x: Int, _ y: Int, _ width: Int, _ height: Int) -> [Int] {
        switch kind {
        case "gradient": return [x * 255 / width, y * 255 / height, (x + 2 * y) * 97 / (width + height), 255]
        case "waves": return [(x * x * 7 + y * 31) % 251, (x * 13 + y * y * 5) % 241, x * y % 239, 255]
        default:
            let (across, down, side) = (2 * x - width, 2 * y - height, min(width, height))
            guard across * across + down * down < side * side else { return [0, 0, 0, x % 3 == 0 ? 80 : 0] }
            return [220, 40 + x % 50, 10 + y % 90, 255]
        }
    }

    @Test(arguments: samples)
    func `placeholders equal those of the published algorithms`(sample: Sample) throws {
        let image = try image(sample.kind, sample.width, sample.height)
        #expect(try Data(image.thumbHash).base64EncodedString() == sample.thumbHash)
        #expect(try image.blurHash == sample.blurHash)
    }

    @Test func `a placeholder of a large image has its proportions, and one of a single pixel is short`() throws {
        let large = try DecodedImage(width: 1200, height: 300) { memory in
            for index in 0..<(1200 * 300) { memory[index * 4 + 3] = 255 }
        }
        let hash = try large.thumbHash
        // A landscape whose luminance has 7 × 2 frequencies.
        #expect(hash[4] & 0x80 != 0 && hash[3] & 7 == 2 && hash[2] & 0x80 == 0)
        #expect(try large.blurHash.hasPrefix("L00000"))
        let pixel = try DecodedImage(width: 1, height: 1) { $0[3] = 255 }
        #expect(try (5...25).contains(pixel.thumbHash.count))
        #expect(try pixel.blurHash.utf8.count == 28)
    }

    @Test func `computing a placeholder stops at the limits of the image`() throws {
        let image = try image("waves", 400, 400)
        var limits = DecodingLimits()
        limits.seconds = -1
        for work in [
            { (budget: ImageBudget) in _ = try image.thumbHash(within: budget) },
            { (budget: ImageBudget) in _ = try image.blurHash(within: budget) },
            { (budget: ImageBudget) in _ = try image.dominantColor(within: budget) },
        ] {
            #expect(throws: ImageCodecError.self) { try work(ImageBudget(limits: limits)) }
        }
    }

    @Test func `the dominant colour is that of most visible pixels`() throws {
        let image = try DecodedImage(width: 10, height: 10) { memory in
            for index in 0..<100 {
                let color: [UInt8] =
                    index < 50
                    ? [0, 255, 0, 0] : index < 85 ? [200, 30, UInt8(40 + index % 3), 255] : [0, 0, 255, 255]
                for channel in 0..<4 { memory[index * 4 + channel] = color[channel] }
            }
        }
        #expect(try image.dominantColor == ImageSizing.Color(red: 200, green: 30, blue: 41))
        #expect(try DecodedImage(width: 3, height: 3) { _ in }.dominantColor == nil)
    }

    @Test func `a description has the displayed size and the file's properties`() throws {
        let image = try image("gradient", 60, 40)
        let png = try ImageDescription(ImageSource(ImageEncoder.png().encode(image)))
        #expect((png.width, png.height, png.format, png.mediaType) == (60, 40, "PNG", "image/png"))
        #expect((png.orientation, png.frames, png.bitDepth, png.hasAlpha) == (1, 1, 8, false))
        #expect(try png.colorSpace == "sRGB" && png.thumbHash == image.thumbHash)
        #expect(try png.blurHash == image.blurHash && png.dominantColor == image.dominantColor)
        let clear = try ImageDescription(ImageSource(ImageEncoder.png().encode(self.image("disc", 30, 30))))
        #expect(clear.hasAlpha)
        #expect(throws: ImageCodecError.self) { try ImageDescription(ImageSource(Array("no image".utf8))) }
    }
}
