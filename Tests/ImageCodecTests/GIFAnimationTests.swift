import TestSupport
import Testing

@testable import ImageCodec

/// Animated GIFs that are written.
@Suite struct GIFAnimationTests {
    private typealias Frame = (image: DecodedImage, duration: Duration)

    private func encoded(_ frames: [Frame], loops: Int = 0, _ encoder: ImageEncoder = .gif()) throws -> [UInt8] {
        let first = try #require(frames.first).image
        let animation = try AnimationEncoder(encoder, width: first.width, height: first.height, loopCount: loops)
        for frame in frames { try animation.add(frame.image, for: frame.duration) }
        return try animation.finish()
    }

    private func frames(_ bytes: [UInt8]) throws -> [AnimationFrame] {
        var decoder = ImageDecoder()
        decoder.limits.animationSeconds = .infinity
        let reader = try decoder.frames(of: ImageSource(bytes))
        var frames: [AnimationFrame] = []
        while let frame = try reader.next() { frames.append(frame) }
        return frames
    }

    /// Frames of random rectangles on those before them, some of them transparent.
    private func rectangles(_ count: Int, colors: Int, _ random: inout SeededGenerator) throws -> [DecodedImage] {
        let (width, height) = (Int.random(in: 1...30, using: &random), Int.random(in: 1...30, using: &random))
        var pixels = [SIMD4<UInt8>](repeating: SIMD4(), count: width * height)
        return try (0..<count).map { _ in
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let (left, top) = (
                    Int.random(in: 0..<width, using: &random), Int.random(in: 0..<height, using: &random)
                )
                let color = Int.random(in: 0..<colors, using: &random)
                let pixel =
                    Int.random(in: 0...3, using: &random) == 0
                    ? SIMD4() : SIMD4(UInt8(color & 255), UInt8(color >> 2 & 255), UInt8(color >> 8), 255)
                for y in top..<Int.random(in: top...height, using: &random) {
                    for x in left..<Int.random(in: left...width, using: &random) { pixels[y * width + x] = pixel }
                }
            }
            return try DecodedImage(width: width, height: height) { memory in
                pixels.withUnsafeBytes { memory.copyBytes(from: $0) }
            }
        }
    }

    @Test(arguments: [3, 60, 255, 1000])
    func `frames with few colours are preserved, including transparency`(_ colors: Int) throws {
        var random = SeededGenerator(for: "GIFAnimationTests")
        for _ in 0..<60 {
            let images = try rectangles(Int.random(in: 1...12, using: &random), colors: colors, &random)
            let read = try frames(encoded(images.map { ($0, .milliseconds(50)) }))
            // A frame that equals the one before it adds to its time.
            var shown: [(hash: String?, frames: Int)] = []
            for image in images {
                if shown.last?.hash == image.hash {
                    shown[shown.count - 1].frames += 1
                } else {
                    shown.append((image.hash, 1))
                }
            }
            #expect(read.map { $0.image.hash } == shown.map(\.hash))
            guard read.count > 1 else { continue }
            #expect(read.map(\.duration) == shown.map { .milliseconds(50 * $0.frames) })
        }
    }

    @Test(arguments: [
        Duration.milliseconds(25), .seconds(1) / 30, .seconds(1) / 24, .milliseconds(33), .seconds(1) / 50,
    ])
    func `times do not drift over many frames`(_ duration: Duration) throws {
        let images = try (0..<200).map { try DecodedImage.plain(2, 2, SIMD4(UInt8($0), 0, 0, 255)) }
        let read = try frames(encoded(images.map { ($0, duration) }))
        #expect(read.count == 200)
        var (end, expected) = (Duration.zero, Duration.zero)
        for frame in read {
            end += frame.duration
            expected += duration
            #expect(abs((end - expected) / .milliseconds(1)) <= 6)
        }
    }

    @Test func `frame times are at least what browsers show, without shortening other frames`() throws {
        let images = try (0..<20).map { try DecodedImage.plain(2, 2, SIMD4(UInt8($0), 0, 0, 255)) }
        let times = (0..<20).map { $0 == 19 ? Duration.seconds(1) : .milliseconds($0 % 3 * 5) }
        let read = try frames(encoded(zip(images, times).map { ($0, $1) }))
        #expect(read.dropLast().allSatisfy { $0.duration == .milliseconds(20) } && read.last?.duration == .seconds(1))
    }

    @Test(arguments: [1_000, 655_350, 655_360, 1_310_710, 4_000_010])
    func `a duration that is too long for one frame is spread over several`(_ milliseconds: Int) throws {
        let images = try (0..<3).map { try DecodedImage.plain(5, 5, SIMD4(9, 9, 9, $0 == 1 ? 255 : 0)) }
        let read = try frames(encoded(images.map { ($0, .milliseconds(milliseconds)) }))
        #expect(read.reduce(.zero) { $0 + $1.duration } == .milliseconds(milliseconds * 3))
        #expect(read.allSatisfy { $0.duration >= .milliseconds(20) })
        #expect(read.first?.image[2, 2].w == 0 && read.last?.image[2, 2].w == 0)
        #expect(read[read.count / 2].image[2, 2].w == 255)
    }

    @Test(arguments: [0, 1, 2, 7, 65_536]) func `the number of loops is read as it was written`(_ loops: Int) throws {
        let images = try (0..<2).map { try DecodedImage.plain(2, 2, SIMD4(UInt8($0), 0, 0, 255)) }
        let bytes = try encoded(images.map { ($0, .milliseconds(50)) }, loops: loops)
        #expect(try ImageDecoder().frames(of: ImageSource(bytes)).loopCount == loops)
    }

    @Test func `frames that are all the same are one image`() throws {
        let image = try DecodedImage.plain(9, 9, SIMD4(1, 2, 3, 255))
        let bytes = try encoded([(image, .seconds(1)), (image, .seconds(1))])
        #expect(try ImageInfo.read(ImageSource(bytes)).frames == 1)
        #expect(try bytes == ImageEncoder.gif().encode(image))
    }

    @Test func `only changed parts of a frame are written`() throws {
        let photo = try ImageDecoder().decode(Corpus.shared.source("png/codec-corpus__24.png"), to: .fit(200, 200))
        let still = try ImageEncoder.gif().encode(photo).count
        let images = try (0..<10).map { number in
            try DecodedImage(width: photo.width, height: photo.height) { memory in
                photo.withUnsafeBytes { memory.copyBytes(from: $0) }
                for x in 0..<8 {
                    for y in 0..<8 {
                        let at = ((y + 20) * photo.width + x + number * 8) * 4
                        memory.storeBytes(of: SIMD4<UInt8>(255, 0, 0, 255), toByteOffset: at, as: SIMD4<UInt8>.self)
                    }
                }
            }
        }
        let bytes = try encoded(images.map { ($0, .milliseconds(50)) })
        #expect(bytes.count < still + 9 * 1_000)
        for (frame, image) in zip(try frames(bytes), images) { #expect(frame.image.meanDifference(from: image) < 4) }
    }

    @Test func `frames whose colours differ from the first have their own palettes`() throws {
        let paths = ["png/codec-corpus__24.png", "jpeg/Pillow__hopper.jpg"]
        let images = try paths.map { path in
            try ImageDecoder().decode(Corpus.shared.source(path), to: ImageSizing(width: 100, height: 100, fit: .fill))
        }
        let alternating: [Frame] = (0..<6).map { (images[$0 % 2], .milliseconds(50)) }
        for (frame, image) in zip(try frames(encoded(alternating)), alternating) {
            #expect(frame.image.meanDifference(from: image.image) < 4)
        }
    }

    @Test(arguments: ["gif/Pillow__dispose_prev.gif", "gif/Pillow__dispose_bgnd.gif", "webp/gen__animated.webp"])
    func `a thumbnail of an animation has its times and loops`(_ path: String) throws {
        let source = try Corpus.shared.source(path)
        let bytes = try ImageEncoder.gif().thumbnail(of: source, .fit(30, 30), ImageDecoder(), keepsAnimation: true)
            .bytes
        let original = try ImageDecoder().frames(of: source, to: .fit(30, 30))
        let written = try frames(bytes)
        #expect(written.count == original.frameCount)
        #expect(try ImageDecoder().frames(of: ImageSource(bytes)).loopCount == original.loopCount)
        for frame in written {
            let expected = try #require(try original.next())
            #expect(frame.duration == expected.duration)
            let pixels = expected.image.width * expected.image.height
            for index in 0..<pixels {
                let (x, y) = (index % expected.image.width, index / expected.image.width)
                #expect((frame.image[x, y].w == 255) == (expected.image[x, y].w >= 128))
            }
        }
        #expect(
            try ImageEncoder.gif().thumbnail(of: source, nil, ImageDecoder(), keepsAnimation: false).bytes.count > 0)
    }

    @Test func `encoding takes memory for a few frames and the file, however many frames there are`() throws {
        var random = SeededGenerator(for: "GIFAnimationTests")
        let noise = try (0..<4).map { _ in
            try DecodedImage(width: 64, height: 64) { memory in
                for index in memory.indices {
                    memory[index] = index % 4 == 3 ? 255 : .random(in: 0...255, using: &random)
                }
            }
        }
        let encoder = ImageEncoder.gif()
        func encode(_ memory: Int) throws(ImageCodecError) -> Int {
            var limits = DecodingLimits()
            (limits.memory, limits.seconds) = (memory, .infinity)
            let animation = try AnimationEncoder(encoder, width: 64, height: 64, within: ImageBudget(limits: limits))
            for number in 0..<200 { try animation.add(noise[number % 4], for: .milliseconds(20)) }
            return try animation.finish().count
        }
        let fixed = encoder.memory(ofAnimation: 0, width: 64, height: 64)
        let size = try encode(fixed + 12 << 20)
        #expect(encoder.memory(ofAnimation: 200, width: 64, height: 64) - fixed >= size * 2)
        let error = #expect(throws: ImageCodecError.self) { try encode(fixed + size * 2) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `a cancelled GIF encoding ends within a frame`() throws {
        let cancellation = ImageCancellation()
        let animation = try AnimationEncoder(
            .gif(), width: 500, height: 500, within: ImageBudget(cancellation: cancellation))
        try animation.add(try DecodedImage.plain(500, 500, SIMD4(1, 2, 3, 255)), for: .seconds(1))
        cancellation.cancel(afterChecks: 4)
        let error = #expect(throws: ImageCodecError.self) {
            try animation.add(try DecodedImage.plain(500, 500, SIMD4(3, 2, 3, 255)), for: .seconds(1))
        }
        #expect(error?.code == .cancelled)
    }
}
