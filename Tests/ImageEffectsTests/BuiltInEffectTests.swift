import TestSupport
import Testing

@testable import ImageCodec
@testable import ImageEffects

@Suite("Every effect of the package")
struct BuiltInEffectTests {
    /// An effect of each type, with values that differ from its defaults, and its identity: a part of keys on disk.
    private static let samples: [(effect: any BuiltInEffect, identity: String)] = [
        (
            AdjustEffect(brightness: 1.5, contrast: 0.5, saturation: 2),
            "adjust(brightness=1.5,contrast=0.5,saturation=2.0)"
        ),
        (BackgroundEffect(color: .black), "background(0.0.0)"),
        (BitonalEffect(), "bitonal"),
        (BlurEffect(sigma: 6), "blur(6.0)"),
        (CircleEffect(), "circle"),
        (CropEffect(x: 1, y: 2, width: 300, height: 400), "crop(1,2,300x400)"),
        (GrayscaleEffect(), "grayscale"),
        (OrientEffect(orientation: .rightMirrored), "orientation(7)"),
        (PadEffect(padding: 7, color: ImageSizing.Color(red: 1, green: 2, blue: 3)), "pad(7,1.2.3)"),
        (PadEffect(padding: 8), "pad(8,none)"),
        (RegionEffect(region: .pixels(x: 1, y: 2, width: 300, height: 400)), "region(1,2,300x400)"),
        (RegionEffect(region: .shares(x: 0.25, y: 0.5, width: 0.5, height: 0.375)), "region(0.25,0.5,0.5x0.375)"),
        (ResizeEffect(sizing: .cover(301, 202)), "resize(301x202,cover)"),
        (RoundedCornersEffect(radius: 5), "corners(5.0)"),
        (SharpenEffect(amount: 3), "sharpen(3.0)"),
        (TrimEffect(tolerance: 7), "trim(7)"),
        (WatermarkEffect(mark: mark), "watermark(2x1-\(digest),top,0.125,0.75)"),
    ]

    /// XXH3 with 128 bits of the bytes 1 to 8, by the package xxhash of PyPI.
    private static let digest = "2ab463fddb09a0b83e8675c57268fb02"

    private static let mark: ImageWatermark? = {
        guard let image = try? DecodedImage(width: 2, height: 1, fill: { $0.copyBytes(from: 1...8) }) else {
            return nil
        }
        var mark = ImageWatermark(image)
        (mark.position, mark.scale, mark.opacity) = (.top, 0.125, 0.75)
        return mark
    }()

    private static let processors = samples.map { ImageProcessor(builtIn: $0.effect) }

    /// Noise with transparent pixels, and with a border for a trim.
    private static func image() throws -> DecodedImage {
        let (width, height) = (700, 500)
        return try DecodedImage(width: width, height: height) { memory in
            var noise = 1
            for index in 0..<(width * height) {
                noise = (noise &* 1_103_515_245 &+ 12_345) & 0x7FFF_FFFF
                let isBorder = index / width < 20
                memory.storeBytes(of: isBorder ? 0 : UInt32(noise), toByteOffset: index * 4, as: UInt32.self)
            }
        }
    }

    private func code(
        _ processor: ImageProcessor, _ image: DecodedImage, _ budget: ImageBudget
    ) -> ImageCodecError.Code? {
        do throws(ImageCodecError) {
            _ = try processor.process(image, within: budget)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `every built-in effect has a sample in these tests`() {
        let types = Set(Self.samples.map { ObjectIdentifier(type(of: $0.effect)) })
        #expect(types == Set(builtInEffects.map { ObjectIdentifier($0) }))
    }

    @Test func `every built-in effect keeps the identity under which its results are on disk`() {
        for (effect, identity) in Self.samples { #expect(effect.identity == identity) }
    }

    @Test func `every built-in effect reaches a worker with all of its parameters`() throws {
        func check(_ effect: some BuiltInEffect) throws {
            try checkFields(of: effect, over: type(of: effect).init())
        }
        // A watermark and a border without a colour are compared below, by their identities.
        for (effect, identity) in Self.samples where !(effect is WatermarkEffect) && identity != "pad(8,none)" {
            try check(effect)
        }
        var (sent, writer) = (Self.processors, WireCoder())
        try writer.code(&sent, most: 100, from: .circle)
        var (read, reader) = ([ImageProcessor](), WireCoder(reading: writer.bytes))
        try reader.code(&read, most: 100, from: .circle)
        try reader.end()
        // A watermark's identity has the digest of its pixels, and everything else.
        #expect(read.map(\.identity) == sent.map(\.identity) && read.allSatisfy(\.isBuiltIn))
        let mark = try #require(Self.mark)
        #expect(
            equalProperties(of: mark, and: ImageWatermark(mark.image)) == ["image", "digest"],
            "the mark needs other values of the rest")
    }

    @Test func `a built-in effect cannot be confused with an application's, which is not sent`() throws {
        var own = ImageProcessor(identity: "blur(6.0)") { (image) throws(ImageCodecError) in image }
        #expect(!own.isBuiltIn)
        var writer = WireCoder()
        #expect(throws: WireCoder.Malformed.self) { try own.code(by: &writer) }
        for number in [-1, builtInEffects.count] {
            var forged = WireCoder()
            _ = try forged.code(case: number)
            var reader = WireCoder(reading: forged.bytes)
            var read = ImageProcessor.circle
            #expect(throws: WireCoder.Malformed.self) { try read.code(by: &reader) }
        }
    }

    @Test(arguments: processors)
    func `every built-in effect respects the limits of the image`(_ processor: ImageProcessor) throws {
        let image = try Self.image()
        #expect(code(processor, image, ImageBudget()) == nil)
        for limit: (inout DecodingLimits) -> Void in [
            { $0.seconds = 0 }, { $0.memory = 100_000 }, { $0.pixels = 1_000 }, { $0.side = 10 },
        ] {
            var limits = DecodingLimits()
            limit(&limits)
            #expect(code(processor, image, ImageBudget(limits: limits)) == .limitExceeded)
        }
        let cancellation = ImageCancellation()
        cancellation.cancel()
        #expect(code(processor, image, ImageBudget(cancellation: cancellation)) == .cancelled)
    }

    @Test(arguments: processors)
    func `every built-in effect announces the size of its result and sufficient memory`(_ processor: ImageProcessor)
        throws
    {
        let image = try Self.image()
        var footprint = RenderingFootprint(width: image.width, height: image.height, mayHaveAlpha: !image.isOpaque)
        processor.add(to: &footprint)
        var limits = DecodingLimits()
        limits.memory = image.cost + footprint.memory
        let result = try processor.process(image, within: ImageBudget(limits: limits))
        #expect(footprint.pixels >= result.width * result.height && (footprint.mayHaveAlpha || result.isOpaque))
        guard processor.hasOneSize else { return }
        #expect((footprint.width, footprint.height) == (result.width, result.height))
    }

    @Test func `a border that makes the image too large is refused`() throws {
        var limits = DecodingLimits()
        limits.side = 1_000
        #expect(code(.pad(by: 150), try Self.image(), ImageBudget(limits: limits)) == nil)
        #expect(code(.pad(by: 151), try Self.image(), ImageBudget(limits: limits)) == .limitExceeded)
    }

    @Test func `the time for the header also counts towards a description`() throws {
        var decoder = ImageDecoder()
        decoder.registered = [SlowDecoder(seconds: 0.02)]
        decoder.limits.seconds = 0.03
        let error = #expect(throws: ImageCodecError.self) {
            try ImageDescription(ImageSource([1, 2, 3]), by: decoder)
        }
        #expect(error?.code == .limitExceeded)
    }
}
