import Testing

@testable import ImageCodec

/// Animations that are read and written frame by frame.
@Suite struct AnimationTests {
    private func frames(
        _ source: ImageSource, _ sizing: ImageSizing? = nil, _ decoder: ImageDecoder = ImageDecoder()
    ) throws(ImageCodecError) -> [AnimationFrame] {
        let reader = try decoder.frames(of: source, to: sizing)
        var frames: [AnimationFrame] = []
        while let frame = try reader.next() { frames.append(frame) }
        return frames
    }

    private func code(_ work: () throws(ImageCodecError) -> Void) -> ImageCodecError.Code? {
        do throws(ImageCodecError) {
            try work()
            return nil
        } catch {
            return error.code
        }
    }

    private func webP(
        _ source: ImageSource, _ sizing: ImageSizing? = nil, lossless: Bool = true, _ decoder: ImageDecoder = .init()
    ) throws(ImageCodecError) -> [UInt8] {
        try ImageEncoder.webp(quality: 80, isLossless: lossless).thumbnail(
            of: source, sizing, decoder, keepsAnimation: true
        ).bytes
    }

    @Test func `an animation that ends or is broken after its last frame is complete`() throws {
        var sample = GIFSample(width: 2, height: 2)
        for fill in UInt8(0)..<3 { sample.append(.init(width: 2, height: 2, fill: fill)) }
        for rest: [UInt8] in [
            [], [0x21], [0x2C, 0], [0x2C, 0, 0, 0, 0, 2], [0, 0], [0x99], [0x21, 0xFE, 80, 0x61, 0x62],
            [0x21, 0xFE, 2, 0x61, 0x62], [0x21, 0xF9, 4, 0], [0x21, 0xFF, 11, 0x58], Array(repeating: 0xFF, count: 300),
        ] {
            let source = ImageSource(sample.bytes + rest)
            #expect(try frames(source).count == 3, "\(rest.prefix(5))")
            #expect(try ImageInfo.read(source).frames == 3, "\(rest.prefix(5))")
        }
    }

    /// As reported by gif2webp 1.2.4 and Pillow 13. In gif2webp and in browsers, no time means 100 ms.
    private static let files: [(path: String, milliseconds: [Int], loops: Int)] = [
        ("gif/Pillow__dispose_prev.gif", [100, 1000, 1000, 1000, 1000], 0),
        ("gif/Pillow__dispose_bgnd.gif", [1000, 1000, 1000, 1000, 1000], 0),
        ("gif/Pillow__multiple_comments.gif", [100, 1000, 1000, 1000, 1000], 0),
        ("gif/Pillow__different_transparency.gif", [1000, 1000], 1),
        ("webp/gen__animated.webp", [100, 100, 100, 100, 100], 3),
    ]

    @Test(arguments: files)
    func `an animation has the file's times and loops, and each frame equals the still image of it`(
        _ path: String, _ milliseconds: [Int], _ loops: Int
    ) throws {
        let source = try Corpus.shared.source(path)
        let reader = try ImageDecoder().frames(of: source, to: .fit(30, 30))
        #expect(reader.frameCount == milliseconds.count && reader.loopCount == loops)
        #expect(reader.duration == .milliseconds(milliseconds.reduce(0, +)))
        for (number, milliseconds) in milliseconds.enumerated() {
            let frame = try #require(try reader.next())
            #expect(frame.duration == .milliseconds(milliseconds))
            // The frames of FrameTests, as Pillow decodes them.
            var decoder = ImageDecoder()
            decoder.frame = number
            let still = try decoder.decode(source, to: .fit(30, 30))
            #expect((frame.image.width, frame.image.height) == (reader.width, reader.height))
            #expect(try frame.image.withoutHiddenColors.hash == still.withoutHiddenColors.hash, "frame \(number)")
        }
        #expect(try reader.next() == nil)
        #expect(try reader.next() == nil)
    }

    @Test(arguments: files)
    func `a lossless WebP has the frames, times and loops of its original`(
        _ path: String, _ milliseconds: [Int], _ loops: Int
    ) throws {
        let source = try Corpus.shared.source(path)
        let written = ImageSource(try webP(source, .fit(30, 30)))
        #expect(try ImageInfo.read(written).format == .webp)
        let (expected, actual) = (try frames(source, .fit(30, 30)), try frames(written))
        #expect(actual.map(\.duration) == expected.map(\.duration))
        for (actual, expected) in zip(actual, expected) {
            #expect(try actual.image.withoutHiddenColors.hash == expected.image.withoutHiddenColors.hash)
        }
        #expect(try ImageDecoder().frames(of: written).loopCount == loops)
    }

    @Test func `a lossy WebP animation looks like its original`() throws {
        let source = try Corpus.shared.source("gif/Pillow__dispose_prev.gif")
        let written = try webP(source, .fit(50, 50), lossless: false)
        let (expected, actual) = (try frames(source, .fit(50, 50)), try frames(ImageSource(written)))
        #expect(actual.count == expected.count)
        for (actual, expected) in zip(actual, expected) {
            #expect(actual.image.meanDifference(from: expected.image) < 8)
        }
    }

    /// A red canvas, a green frame at its upper left with this disposal, then a blue one at its lower right.
    private func sample(disposal: UInt8, delay: Int = 5) -> GIFSample {
        var sample = GIFSample(width: 3, height: 3)
        var first = GIFSample.Frame(width: 3, height: 3, fill: 0)
        var middle = GIFSample.Frame(width: 2, height: 2, fill: 1)
        (first.delay, middle.delay, middle.disposal) = (delay, delay, disposal)
        sample.append(first)
        sample.append(middle)
        sample.append(.init(x: 2, y: 2, width: 5, height: 5, fill: 2))
        return sample
    }

    @Test(arguments: [0, 1, 2, 3] as [UInt8])
    func `frames of an animation are disposed of in the same way as for a still image`(_ disposal: UInt8) throws {
        let source = ImageSource(sample(disposal: disposal).finished())
        let all = try frames(source)
        #expect(all.count == 3)
        #expect(all.map(\.duration) == [.milliseconds(50), .milliseconds(50), .milliseconds(100)])
        for (number, frame) in all.enumerated() {
            var decoder = ImageDecoder()
            decoder.frame = number
            #expect(frame.image.meanDifference(from: try decoder.decode(source)) == 0)
        }
    }

    @Test(arguments: [0, 1, 2, 3] as [UInt8], [(6, 6), (3, 6), (6, 3)])
    func `transparent areas after a frame do not darken their surroundings`(
        _ disposal: UInt8, _ size: (width: Int, height: Int)
    ) throws {
        for first in [6, 4] {
            var sample = GIFSample(width: 6, height: 6)
            var middle = GIFSample.Frame(width: size.width, height: size.height, fill: 3)
            middle.disposal = disposal
            sample.append(.init(width: first, height: 6, fill: 3))
            sample.append(middle)
            sample.append(.init(x: 2, y: 1, width: 1, height: 1, fill: 3))
            for frame in try frames(ImageSource(sample.finished()), .fit(4, 4)) {
                let pixels = frame.image.withUnsafeBytes { Array($0.bindMemory(to: SIMD4<UInt8>.self)) }
                #expect(pixels.allSatisfy { $0.w == 0 || ($0.x, $0.y, $0.z) == (255, 255, 255) }, "\(pixels)")
            }
        }
    }

    @Test(arguments: [(0, 0), (1, 2), (4, 5)]) func `loops are counted as browsers count them`(
        _ stored: Int, _ shown: Int
    )
        throws
    {
        var sample = sample(disposal: 0)
        sample.append([0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, UInt8(stored), 0, 0])
        let bytes = sample.finished()
        #expect(try ImageDecoder().frames(of: ImageSource(bytes)).loopCount == shown)
        let written = try webP(ImageSource(bytes))
        #expect(try ImageDecoder().frames(of: ImageSource(written)).loopCount == shown)
    }

    @Test func `a crop that depends on content is the same in all frames`() throws {
        // The bright spot moves from the left to the right.
        var sample = GIFSample(
            width: 80, height: 20, palette: [[0, 0, 0], [255, 255, 255], [90, 0, 0], [0, 0, 90]])
        sample.append(.init(width: 80, height: 20, fill: 0))
        for x in [5, 60] {
            sample.append(.init(width: 80, height: 20, fill: 0))
            var spot = GIFSample.Frame(x: x, y: 4, width: 12, height: 12, fill: 1)
            for index in spot.indices.indices where index % 3 == 0 { spot.indices[index] = UInt8(index % 4) }
            sample.append(spot)
        }
        let source = ImageSource(sample.finished())
        let all = try frames(source, .cover(20, 20, position: .entropy))
        var decoder = ImageDecoder()
        decoder.frame = 4
        let own = try decoder.decode(source, to: .cover(20, 20, position: .entropy))
        #expect(all.count == 5 && all.allSatisfy { $0.image.width == 20 && $0.image.height == 20 })
        #expect(try #require(all.last).image.meanDifference(from: own) > 0)
    }

    @Test func `frames, pixels and time of an animation are limited together`() throws {
        let source = try Corpus.shared.source("gif/Pillow__dispose_prev.gif")
        func code(_ change: (inout DecodingLimits) -> Void) -> ImageCodecError.Code? {
            var decoder = ImageDecoder()
            change(&decoder.limits)
            return self.code { () throws(ImageCodecError) in _ = try frames(source, nil, decoder) }
        }
        #expect(code { $0.frames = 5 } == nil && code { $0.frames = 4 } == .limitExceeded)
        #expect(code { $0.animationPixels = 50_000 } == nil && code { $0.animationPixels = 49_999 } == .limitExceeded)
        #expect(code { $0.animationSeconds = 4.1 } == nil && code { $0.animationSeconds = 4 } == .limitExceeded)
        #expect(code { $0.seconds = 0 } == .limitExceeded && code { $0.memory = 100_000 } == .limitExceeded)
        // A still of it is within them.
        var decoder = ImageDecoder()
        (decoder.limits.frames, decoder.limits.animationPixels) = (4, 49_999)
        #expect(try decoder.decode(source).width == 100)
        let many = try Corpus.shared.source("hostile/gen__gif_10000_frames.gif")
        #expect(self.code { () throws(ImageCodecError) in _ = try webP(many) } == .limitExceeded)
    }

    @Test func `a cancelled animation ends between frames`() throws {
        let source = try Corpus.shared.source("gif/Pillow__dispose_prev.gif")
        let cancellation = ImageCancellation()
        let budget = ImageBudget(cancellation: cancellation)
        let reader = try ImageDecoder().frames(of: source, within: budget)
        #expect(try reader.next() != nil)
        cancellation.cancel()
        #expect(code { () throws(ImageCodecError) in _ = try reader.next() } == .cancelled)
        #expect(try reader.next() == nil)
    }

    @Test func `a frame that is cut is an error, or the last frame with allowTruncated`() throws {
        var sample = GIFSample(width: 40, height: 40)
        sample.append(.init(width: 40, height: 40, fill: 0))
        sample.append(.init(width: 40, height: 40, fill: 1))
        let bytes = sample.finished()
        let cut = ImageSource(Array(bytes.dropLast(900)))
        #expect(code { () throws(ImageCodecError) in _ = try webP(cut) } == .truncated)
        var decoder = ImageDecoder()
        decoder.allowTruncated = true
        let all = try frames(cut, nil, decoder)
        #expect(all.count == 2 && all[1].image[0, 0] == SIMD4(0, 255, 0, 255))
        #expect(all[1].image[0, 39] == SIMD4(255, 0, 0, 255))
        #expect(all.last?.image.damage?.code == .truncated && all.first?.image.damage == nil)
        // A file without its end is whole.
        #expect(try frames(ImageSource(Array(bytes.dropLast()))).count == 2)
    }

    @Test func `a still image has one frame, and stays one`() throws {
        for path in ["jpeg/Pillow__hopper.jpg", "gif/Pillow__hopper.gif", "webp/Pillow__hopper.webp"] {
            let source = try Corpus.shared.source(path)
            let all = try frames(source, .fit(40, 40))
            #expect(all.count == 1)
            #expect(all[0].image.meanDifference(from: try ImageDecoder().decode(source, to: .fit(40, 40))) == 0)
            let written = ImageSource(try webP(source, .fit(40, 40), lossless: false))
            #expect(try ImageInfo.read(written).frames == 1)
        }
    }

    @Test func `only WebP and GIF hold animations, and all frames have one size`() throws {
        let image = try DecodedImage(width: 4, height: 4) { _ in }
        let other = try DecodedImage(width: 5, height: 4) { _ in }
        #expect(
            code { () throws(ImageCodecError) in _ = try AnimationEncoder(.jpeg(), width: 4, height: 4) }
                == .invalidArgument)
        #expect(
            code { () throws(ImageCodecError) in _ = try AnimationEncoder(.webp(), width: 0, height: 4) }
                == .invalidArgument)
        #expect(
            code { () throws(ImageCodecError) in _ = try AnimationEncoder(.webp(), width: 16_000, height: 600) }
                == .invalidArgument)
        for side in [.min, -1, 0, 65_536, .max] as [Int] {
            for encoder in [ImageEncoder.webp(), ImageEncoder(.gif(ImageEncoder.GIFOptions()))] {
                for (width, height) in [(side, 1), (1, side), (side, side)] {
                    #expect(
                        code { () throws(ImageCodecError) in
                            _ = try AnimationEncoder(encoder, width: width, height: height)
                        } == .invalidArgument)
                }
            }
        }
        let encoder = try AnimationEncoder(.webp(), width: 4, height: 4)
        #expect(code { () throws(ImageCodecError) in _ = try encoder.finish() } == .invalidArgument)
        #expect(code { () throws(ImageCodecError) in try encoder.add(other, for: .seconds(1)) } == .invalidArgument)
        try encoder.add(image, for: .seconds(1))
        #expect(try encoder.finish().count > 0)
    }

    @Test func `the profile and Exif block of an animation are written`() throws {
        var image = try DecodedImage(width: 8, height: 8) { memory in
            for index in 0..<64 { memory[index * 4 + 3] = 255 }
        }
        image.exif = Array("II*\0".utf8) + [8, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        let second = try DecodedImage(width: 8, height: 8) { memory in
            for index in 0..<256 { memory[index] = 255 }
        }
        let encoder = try AnimationEncoder(.webp(), width: 8, height: 8, loopCount: 2)
        for frame in [image, second, image] { try encoder.add(frame, for: .milliseconds(40)) }
        let source = ImageSource(try encoder.finish())
        var decoder = ImageDecoder()
        decoder.keepsMetadata = true
        let all = try frames(source, nil, decoder)
        #expect(all.count == 3 && all[0].image.exif != nil && all[1].duration == .milliseconds(40))
    }
}
