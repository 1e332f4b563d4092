import Testing

@testable import ImageCodec

/// Extreme proportions, enlargements, ratios and blurs: within the limits, or an error that names the limit.
@Suite struct HostileSizeTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let format: String
        let width: Int
        let height: Int

        var testDescription: String { "\(format) of \(width) x \(height)" }
    }

    static let cases = ["jpeg", "png", "webp"].flatMap { format in
        [(1, 16_383), (16_383, 1), (3, 9_000), (1, 1)].map { Case(format: format, width: $0.0, height: $0.1) }
    }

    @Test(arguments: cases) func `every fit of a sliver respects the limits, with and without enlargement`(
        _ sliver: Case
    ) throws {
        let image = try DecodedImage(width: sliver.width, height: sliver.height) { memory in
            for index in memory.indices { memory[index] = index % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: index) }
        }
        let encoder: ImageEncoder =
            sliver.format == "jpeg" ? .jpeg() : sliver.format == "png" ? .png(level: 1) : .webp()
        let source = ImageSource(try encoder.encode(image))
        var decoder = ImageDecoder()
        decoder.limits.pixels = 1 << 18
        decoder.limits.memory = 24 << 20
        for (width, height) in [(1, 65_535), (65_535, 1), (200, 200), (nil, 3), (65_535, nil), (8192, 8192)]
            as [(Int?, Int?)]
        {
            for fit in ImageSizing.Fit.allCases {
                for enlarges in [false, true] {
                    var sizing = ImageSizing(width: width, height: height, fit: fit)
                    sizing.allowsEnlargement = enlarges
                    sizing.devicePixelRatio = enlarges ? 4 : 1
                    sizing.background = .white
                    sizing.position = enlarges ? .attention : .entropy
                    check(decoder, source, image, sizing)
                }
            }
        }
    }

    private func check(_ decoder: ImageDecoder, _ source: ImageSource, _ pixels: DecodedImage, _ sizing: ImageSizing) {
        let budget = ImageBudget(limits: decoder.limits)
        let allowed: [ImageCodecError.Code] = [.limitExceeded]
        do throws(ImageCodecError) {
            let image = try decoder.decode(source, to: sizing, within: budget)
            #expect(image.width * image.height <= decoder.limits.pixels, "\(sizing)")
            // The same limits apply to pixels and to files.
            let resized = try pixels.resized(to: sizing, within: ImageBudget(limits: decoder.limits))
            #expect(resized.width == image.width && resized.height == image.height)
            _ = try image.blurred(sigma: 125, within: budget)
        } catch {
            #expect(allowed.contains(error.code), "\(sizing): \(error)")
        }
    }

    @Test func `an encoded file cannot exceed the memory limit`() throws {
        let inputs = try #require(StageLimitTests.Inputs.shared)
        for encoder in [ImageEncoder.jpeg(quality: 100), .png(level: 0), .webp(quality: 100)] {
            var limits = DecodingLimits()
            // All but the file.
            limits.memory = inputs.noise.cost + encoder.memory(width: 1024, height: 1024, isOpaque: true) + 100_000
            let error = #expect(throws: ImageCodecError.self) {
                try encoder.encode(inputs.noise, within: ImageBudget(limits: limits))
            }
            #expect(error?.code == .limitExceeded, "\(encoder)")
        }
    }
}
