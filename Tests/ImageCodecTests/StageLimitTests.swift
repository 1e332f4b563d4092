import Testing

@testable import ImageCodec

/// Every step keeps within the limits of one image, and stops after a cancellation.
@Suite struct StageLimitTests {
    /// A step, on an image of 1024 × 1024 pixels or its file.
    struct Stage: Sendable, CustomTestStringConvertible {
        let name: String
        /// True if pixels are created that count for the limit on memory.
        var takesMemory = true
        let run: @Sendable (Inputs, ImageBudget) throws(ImageCodecError) -> Void

        var testDescription: String { name }
    }

    /// Made once: nothing of it is measured.
    struct Inputs: Sendable {
        static let side = 1024
        static let shared = try? Inputs()

        let noise: DecodedImage
        let clear: DecodedImage
        let gray: DecodedImage
        let files: [String: ImageSource]

        init() throws(ImageCodecError) {
            noise = try Self.image {
                SIMD4(truncatingIfNeeded: SIMD4(repeating: $0) &* SIMD4(7, 13, 29, 0)) | SIMD4(0, 0, 0, 255)
            }
            clear = try Self.image { SIMD4(truncatingIfNeeded: SIMD4(repeating: $0) &* SIMD4(3, 5, 1, 11)) }
            gray = try Self.image { SIMD4(repeating: UInt8(truncatingIfNeeded: $0 >> 12)) | SIMD4(0, 0, 0, 255) }
            var progressive = ImageEncoder.JPEGOptions(quality: 80)
            progressive.isProgressive = true
            files = [
                "jpeg": ImageSource(try ImageEncoder.jpeg().encode(noise)),
                "progressive": ImageSource(try ImageEncoder(.jpeg(progressive)).encode(noise)),
                "png": ImageSource(try ImageEncoder.png(level: 0).encode(noise)),
                "webp": ImageSource(try ImageEncoder.webp(quality: 90).encode(noise)),
            ]
        }

        private static func image(_ pixel: (Int) -> SIMD4<UInt8>) throws(ImageCodecError) -> DecodedImage {
            try DecodedImage(width: side, height: side) { memory in
                var noise = 1
                for index in 0..<(side * side) {
                    noise = (noise &* 1_103_515_245 &+ 12_345) & 0x7FFF_FFFF
                    memory.storeBytes(of: pixel(noise >> 8), toByteOffset: index * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
    }

    static let stages: [Stage] = {
        var stages = [
            ("jpeg", 0.125), ("jpeg", 1), ("progressive", 1), ("progressive", 0.125), ("png", 1), ("webp", 1),
        ].map { file, scale in
            Stage(name: "decoding a \(file) at \(scale)") { inputs, budget throws(ImageCodecError) in
                guard let source = inputs.files[file] else { return }
                let side = Int(Double(Inputs.side) * scale / 2)
                _ = try ImageDecoder().decode(source, to: .fit(side, side), within: budget)
            }
        }
        var enlarged = ImageSizing(width: 1200, height: 1200, fit: .fill)
        enlarged.allowsEnlargement = true
        var canvas = ImageSizing(width: 1024, height: 2048, fit: .contain)
        canvas.background = .black
        let attention = ImageSizing.cover(1024, 512, position: .attention)
        let entropy = ImageSizing.cover(512, 1024, position: .entropy)
        for (name, sizing) in [
            ("enlarging", enlarged), ("a canvas", canvas), ("attention", attention), ("entropy", entropy),
            ("shrinking", .fit(100, 100)),
        ] {
            stages.append(
                Stage(name: name) { inputs, budget throws(ImageCodecError) in
                    _ = try inputs.noise.resized(to: sizing, within: budget)
                })
        }
        stages += [
            Stage(name: "turning") { inputs, budget throws(ImageCodecError) in
                _ = try inputs.noise.oriented(.right, within: budget)
            },
            Stage(name: "cropping") { inputs, budget throws(ImageCodecError) in
                _ = try inputs.noise.cropped(x: 1, y: 1, width: 1000, height: 1000, within: budget)
            },
            Stage(name: "a background") { inputs, budget throws(ImageCodecError) in
                _ = try inputs.clear.flattened(onto: .white, within: budget)
            },
            Stage(name: "a blur") { inputs, budget throws(ImageCodecError) in
                _ = try inputs.noise.blurred(sigma: 125, within: budget)
            },
            Stage(name: "gray") { inputs, budget throws(ImageCodecError) in
                _ = try inputs.noise.grayscaled(within: budget)
            },
            Stage(name: "black and white") { inputs, budget throws(ImageCodecError) in
                _ = try inputs.noise.bitonal(within: budget)
            },
            Stage(name: "colours") { inputs, budget throws(ImageCodecError) in
                _ = try inputs.noise.adjusted(contrast: 2, saturation: 2, within: budget)
            },
            Stage(name: "sharpening") { inputs, budget throws(ImageCodecError) in
                _ = try inputs.noise.sharpened(amount: 2, within: budget)
            },
            Stage(name: "padding") { inputs, budget throws(ImageCodecError) in
                _ = try inputs.noise.padded(by: 100, color: .white, within: budget)
            },
        ]
        var progressive = ImageEncoder.JPEGOptions()
        progressive.isProgressive = true
        var lossless = ImageEncoder.WebPOptions(isLossless: true)
        lossless.effort = 0
        let encoders: [(String, ImageEncoder)] = [
            ("JPEG", .jpeg()), ("progressive JPEG", ImageEncoder(.jpeg(progressive))), ("PNG", .png(level: 1)),
            ("WebP", .webp()), ("GIF", .gif()),
            ("lossless WebP", ImageEncoder(.webp(lossless))),
        ]
        for (name, encoder) in encoders {
            stages.append(
                Stage(name: "encoding \(name)") { inputs, budget throws(ImageCodecError) in
                    _ = try encoder.encode(inputs.noise, within: budget)
                })
        }
        stages.append(
            Stage(name: "encoding a PNG with a palette") { inputs, budget throws(ImageCodecError) in
                _ = try ImageEncoder.png().encode(inputs.gray, within: budget)
            })
        return stages
    }()

    private func code(_ stage: Stage, _ budget: ImageBudget) throws -> ImageCodecError.Code? {
        let inputs = try #require(Inputs.shared)
        do throws(ImageCodecError) {
            try stage.run(inputs, budget)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: stages) func `each step respects the limits of time and memory`(_ stage: Stage) throws {
        #expect(try code(stage, ImageBudget()) == nil)
        var limits = DecodingLimits()
        limits.seconds = 0
        #expect(try code(stage, ImageBudget(limits: limits)) == .limitExceeded)
        limits = DecodingLimits()
        // Less than the pixels that come out, or go in.
        limits.memory = 100_000
        guard !stage.name.hasPrefix("decoding") else { return }
        #expect(try code(stage, ImageBudget(limits: limits)) == .limitExceeded)
    }

    @Test(arguments: stages) func `each step ends when it is cancelled, even while it runs`(_ stage: Stage) throws {
        let cancellation = ImageCancellation()
        cancellation.cancel()
        #expect(try code(stage, ImageBudget(cancellation: cancellation)) == .cancelled)
        // It looks at the start, and again and again.
        let later = ImageCancellation()
        later.cancel(afterChecks: 3)
        #expect(try code(stage, ImageBudget(cancellation: later)) == .cancelled)
    }

    @Test func `the times of all steps add up towards the limit`() throws {
        let inputs = try #require(Inputs.shared)
        var limits = DecodingLimits()
        let first = ImageBudget(limits: limits)
        _ = try inputs.noise.grayscaled(within: first)
        #expect(first.spent > 0)
        limits.seconds = first.spent / 2
        let budget = ImageBudget(limits: limits)
        let error = #expect(throws: ImageCodecError.self) {
            for _ in 0..<100 { _ = try inputs.noise.grayscaled(within: budget) }
        }
        #expect(error?.code == .limitExceeded)
    }
}
