import Testing

@testable import ImageCodec

/// JPEG XL, which this process decodes for the tests only. References are the encoder's input (TestAssets/jxl).
@Suite struct JPEGXLTests {
    init() { ImageCodecLibraries.allowWorkerFormats() }

    private func source(_ name: String) throws -> ImageSource { try Corpus.shared.source("jxl/gen__\(name)") }

    private func bytes(_ name: String) throws -> [UInt8] { try Corpus.shared.bytes("jxl/gen__\(name)") }

    private func decoded(_ name: String) throws -> DecodedImage { try ImageDecoder().decode(source(name)) }

    @Test(
        arguments: [
            ("lossless.jxl", 64, 48, 8, 3), ("lossy_container.jxl", 64, 48, 8, 3), ("alpha.jxl", 64, 48, 8, 4),
            ("gray.jxl", 64, 48, 8, 1), ("16.jxl", 24, 16, 16, 3), ("gray_alpha_16.jxl", 24, 16, 16, 2),
            ("float.jxl", 24, 16, 32, 3), ("jpeg.jxl", 128, 128, 8, 3), ("jpeg_groups.jxl", 512, 256, 8, 3),
            ("animation.jxl", 100, 100, 8, 4), ("depth.jxl", 24, 16, 8, 4),
        ] as [(String, Int, Int, Int, Int)])
    func `the header reports the upright size, depth and channels`(
        name: String, width: Int, height: Int, depth: Int, components: Int
    ) throws {
        let info = try ImageInfo.read(source(name))
        #expect((info.width, info.height) == (width, height))
        #expect(info.format == .jpegXL && info.orientation == .up && info.frames == 1 && info.profile == nil)
        #expect((info.bitDepth, info.components) == (depth, components))
        #expect(info.hasAlpha == components.isMultiple(of: 2))
    }

    @Test(
        arguments: [
            ("lossless.jxl", "picture.png", 0), ("lossy_container.jxl", "picture.png", 4),
            ("alpha.jxl", "alpha.png", 0), ("alpha_lossy.jxl", "alpha.png", 4),
            ("gray.jxl", "gray.png", 0), ("gray_lossy.jxl", "gray.png", 3), ("float.jxl", "small.png", 0),
            // Other readers cut 16 bits to the upper 8, and libjxl rounds.
            ("16.jxl", "16.png", 0.5), ("gray_alpha_16.jxl", "gray_alpha_16.png", 0.5),
            ("alpha_premultiplied.jxl", "alpha.png", 0.05),
        ] as [(String, String, Double)])
    func `pixels match the encoder's input, exactly or within the loss`(
        name: String, reference: String, most: Double
    ) throws {
        let (image, expected) = (try decoded(name), try decoded(reference))
        #expect((image.width, image.height) == (expected.width, expected.height))
        #expect(image.isOpaque == expected.isOpaque && image.profile == nil)
        let difference = image.meanDifference(from: expected)
        #expect(difference <= most, "\(difference)")
    }

    @Test(arguments: 1...8) func `an image is turned once, by the codestream's orientation`(_ orientation: Int) throws {
        let info = try ImageInfo.read(source("orientation_\(orientation).jxl"))
        #expect((info.width, info.height) == (24, 16) && info.orientation == .up)
        let image = try decoded("orientation_\(orientation).jxl")
        #expect(image.meanDifference(from: try decoded("small.png")) == 0)
    }

    @Test(arguments: [
        ("jpeg.jxl", "jpeg/Pillow__hopper_orientation_6.jpg"), ("jpeg_groups.jxl", "jpeg/Pillow__imageops_pad_h_0.jpg"),
    ])
    func `a reconstructible JPEG looks like the JPEG, turned once`(_ name: String, _ original: String) throws {
        let expected = try ImageDecoder().decode(Corpus.shared.source(original))
        let image = try decoded(name)
        #expect((image.width, image.height) == (expected.width, expected.height))
        let difference = image.meanDifference(from: expected)
        #expect(difference < 1, "\(difference)")
        let small = try ImageDecoder().decode(source(name), to: .fit(50, 50))
        let expectedSmall = try ImageDecoder().decode(Corpus.shared.source(original), to: .fit(50, 50))
        #expect((small.width, small.height) == (expectedSmall.width, expectedSmall.height))
        #expect(small.meanDifference(from: expectedSmall) < 4)
    }

    @Test func `the first frame of an animation is decoded, and no other`() throws {
        let expected = try ImageDecoder().decode(Corpus.shared.source("gif/Pillow__dispose_bgnd.gif"))
        #expect(try decoded("animation.jxl").meanDifference(from: expected) == 0)
        var decoder = ImageDecoder()
        decoder.frame = 1
        let error = #expect(throws: ImageCodecError.self) { try decoder.decode(source("animation.jxl")) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func `a wide-gamut image keeps its profile on request, else it becomes sRGB, as does one in XYB`() throws {
        var decoder = ImageDecoder()
        decoder.color = .keepProfile
        let own = try decoder.decode(source("p3.jxl"))
        let (shown, lossy) = (try decoded("p3.jxl"), try decoded("p3_lossy.jxl"))
        #expect(own.profile != nil && shown.profile == nil)
        #expect(shown.meanDifference(from: own) > 4)
        let difference = lossy.meanDifference(from: shown)
        #expect(difference < 1, "\(difference)")
        let kept = try decoder.decode(source("p3_lossy.jxl"))
        #expect(kept.profile == nil && kept.meanDifference(from: lossy) == 0)
    }

    @Test func `a channel that is not shown changes nothing, and CMYK is refused`() throws {
        let (image, expected) = (try decoded("depth.jxl"), try decoded("small.png"))
        for y in 0..<16 {
            for x in 0..<24 {
                var color = image[x, y]
                color.w = 255
                #expect(color == expected[x, y])
            }
        }
        let error = #expect(throws: ImageCodecError.self) {
            try ImageInfo.read(Corpus.shared.source("hostile/gen__jxl_cmyk.jxl"))
        }
        #expect(error?.code == .unsupportedFormat && error?.reason == "JPEG XL with CMYK")
    }

    // MARK: Boxes

    /// A directory of one entry: the orientation 6.
    private static let exif: [UInt8] =
        Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]

    private func box(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let size = content.count + 8
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: size >> $0) } + Array(name.utf8) + content
    }

    @Test func `Exif is kept on request, compressed or not, and its orientation is not applied`() throws {
        var decoder = ImageDecoder()
        decoder.keepsMetadata = true
        #expect(try decoder.decode(source("jpeg.jxl")).exif != nil)
        #expect(try decoded("jpeg.jxl").exif == nil)
        #expect(try decoder.decode(source("lossy_container.jxl")).exif == nil)
        let whole = try bytes("lossy_container.jxl") + box("Exif", [0, 0, 0, 0] + Self.exif)
        let image = try decoder.decode(ImageSource(whole))
        #expect((image.width, image.height) == (64, 48))
        #expect(image.exif?.count == Self.exif.count && image.exif.map { ExifBlock($0).orientation } == .up)
        #expect(image.meanDifference(from: try decoded("lossy_container.jxl")) == 0)
        // Without a TIFF header, cut, or too large.
        for box in [box("Exif", [0, 0, 1, 0] + Self.exif), Array(box("Exif", [0, 0, 0, 0] + Self.exif).dropLast(9))] {
            let file = try bytes("lossy_container.jxl") + box
            #expect(try decoder.decode(ImageSource(file)).exif == nil)
        }
        decoder.limits.ancillary = 10
        #expect(try decoder.decode(ImageSource(whole)).exif == nil)
    }

    @Test func `a container of too many boxes is refused`() throws {
        let free = box("free", [])
        var file = try bytes("lossy_container.jxl")
        for _ in 0..<70_000 { file += free }
        let error = #expect(throws: ImageCodecError.self) { try ImageInfo.read(ImageSource(file)) }
        #expect(error?.code == .limitExceeded && error?.format == .jpegXL)
    }

    // MARK: Damage

    @Test(arguments: [
        "lossy_container.jxl", "lossless.jxl", "alpha_lossy.jxl", "jpeg.jxl", "orientation_6.jxl", "p3.jxl",
    ])
    func `a cut file is truncated, whatever its length`(_ name: String) throws {
        let whole = try bytes(name)
        var decoder = ImageDecoder()
        for cut in Array(stride(from: 16, to: whole.count, by: max(1, whole.count / 50))) + [whole.count - 1] {
            decoder.allowTruncated.toggle()
            let error = #expect(throws: ImageCodecError.self) {
                try decoder.decode(ImageSource(Array(whole[..<cut])))
            }
            #expect(error?.code == .truncated, "\(cut): \(error.map { "\($0)" } ?? "")")
        }
    }

    @Test func `a file with wrong bytes gives an image or an error`() throws {
        for name in ["lossy_container.jxl", "alpha.jxl", "jpeg.jxl", "animation.jxl"] {
            let whole = try bytes(name)
            for place in stride(from: 0, to: whole.count, by: max(1, whole.count / 60)) {
                var wrong = whole
                wrong[place] ^= 0x55
                do throws(ImageCodecError) {
                    let image = try ImageDecoder().decode(ImageSource(wrong))
                    #expect(image.width > 0 && image.height > 0)
                } catch {
                    #expect(!error.reason.isEmpty && error.code != .failed, "\(error)")
                }
            }
        }
    }

    // MARK: Limits

    @Test func `sizes and memory are refused by the header`() throws {
        let changes: [(inout DecodingLimits) -> Void] = [
            { $0.pixels = 131_071 }, { $0.side = 511 }, { $0.memory = 4 << 20 },
        ]
        for change in changes {
            var decoder = ImageDecoder()
            change(&decoder.limits)
            let error = #expect(throws: ImageCodecError.self) { try decoder.decode(source("jpeg_groups.jxl")) }
            #expect(error?.code == .limitExceeded && error?.format == .jpegXL)
        }
    }

    @Test func `the memory of libjxl is counted for each pixel and channel`() throws {
        for (name, channels) in [("jpeg_groups.jxl", 0), ("alpha.jxl", 1), ("depth.jxl", 2)] {
            let header = try ImageDecoder().header(of: source(name))
            #expect(header.memory(at: .whole) >= header.pixelCount * (16 + 20 * channels))
        }
    }

    @Test func `decoding ends at its time limit and when it is cancelled`() throws {
        var decoder = ImageDecoder()
        decoder.limits.seconds = 0
        let error = #expect(throws: ImageCodecError.self) { try decoder.decode(source("jpeg_groups.jxl")) }
        #expect(error?.code == .limitExceeded)
        for checks in 0..<Int32(8) {
            let cancellation = ImageCancellation()
            cancellation.cancel(afterChecks: checks)
            let stopped = #expect(throws: ImageCodecError.self) {
                try ImageDecoder().decode(source("jpeg_groups.jxl"), within: ImageBudget(cancellation: cancellation))
            }
            #expect(stopped?.code == .cancelled)
        }
    }
}
