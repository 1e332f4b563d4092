import TestSupport
import Testing

@testable import ImageCodec

/// Still GIFs, as the package's own reader and giflib's see them.
@Suite struct GIFEncodingTests {
    private func encoded(_ image: DecodedImage, colors: Int = 256, isDithered: Bool = true) throws -> [UInt8] {
        try ImageEncoder.gif(colors: colors, isDithered: isDithered).encode(image)
    }

    private func decoded(_ bytes: [UInt8]) throws -> DecodedImage { try ImageDecoder().decode(ImageSource(bytes)) }

    private func photo(_ side: Int = 128) throws -> DecodedImage {
        try ImageDecoder().decode(Corpus.shared.source("png/codec-corpus__24.png"), to: .fit(side, side))
    }

    /// Pixels of so many colours in no order, some of them transparent.
    private func picture(
        width: Int = 70, height: Int = 30, colors: Int, transparent: Bool, _ random: inout SeededGenerator
    ) throws -> DecodedImage {
        let palette = (0..<colors).map { (index: Int) -> SIMD4<UInt8> in
            SIMD4(UInt8(truncatingIfNeeded: index * 3), UInt8(index & 255), UInt8(index >> 8), 255)
        }
        return try DecodedImage(width: width, height: height) { memory in
            for index in 0..<(width * height) {
                let color = palette[index < colors ? index : Int.random(in: 0..<colors, using: &random)]
                let isHole = transparent && index >= colors && Bool.random(using: &random)
                memory.storeBytes(of: isHole ? SIMD4<UInt8>() : color, toByteOffset: index * 4, as: SIMD4<UInt8>.self)
            }
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 16, 17, 128, 255, 256], [false, true])
    func `an image with no more colours than a palette is preserved in a GIF`(_ colors: Int, _ transparent: Bool) throws
    {
        // Transparency is one of the 256.
        guard !transparent || colors < 256 else { return }
        var random = SeededGenerator(for: "GIFEncodingTests")
        let image = try picture(colors: colors, transparent: transparent, &random)
        for isDithered in [true, false] {
            let bytes = try encoded(image, isDithered: isDithered)
            #expect(ImageFormat.detect(bytes) == .gif)
            #expect(try decoded(bytes).hash == image.hash)
        }
    }

    @Test(arguments: [1, 2, 7, 100, 256, 5000])
    func `giflib reads the same pixels from an encoded GIF`(_ colors: Int) throws {
        var random = SeededGenerator(for: "GIFEncodingTests")
        for (width, height) in [(1, 5000), (333, 190), (5001, 1)] {
            let image = try picture(width: width, height: height, colors: colors, transparent: false, &random)
            let bytes = try encoded(image)
            let expected = try decoded(bytes)
            let actual = try GiflibReader(bytes)
            #expect(actual.width == width && actual.height == height)
            #expect(
                expected.withUnsafeBytes { pixels in
                    (0..<width * height * 3).allSatisfy { actual.colors[$0] == pixels[$0 / 3 * 4 + $0 % 3] }
                })
        }
    }

    @Test func `a photograph as a GIF is accurate, and more so with more colours`() throws {
        let photo = try photo()
        var last = 255.0
        for colors in [4, 16, 64, 256] {
            let image = try decoded(encoded(photo, colors: colors))
            #expect(image.meanDifference(from: photo) < last)
            last = image.meanDifference(from: photo)
            let distinct = image.withUnsafeBytes { Set($0.bindMemory(to: UInt32.self)) }
            #expect(distinct.count <= colors && distinct.count > colors / 2)
        }
        #expect(last < 3)
        #expect(try encoded(photo, isDithered: false).count < encoded(photo).count)
    }

    @Test func `a gradient with too many colours keeps its mean colour everywhere`() throws {
        let gradient = try DecodedImage(width: 256, height: 64) { memory in
            for index in 0..<(256 * 64) {
                memory.storeBytes(
                    of: SIMD4(repeating: UInt8(index % 256)) | SIMD4(0, 0, 0, 255), toByteOffset: index * 4,
                    as: SIMD4<UInt8>.self)
            }
        }
        let image = try decoded(encoded(gradient, colors: 8))
        for left in stride(from: 32, to: 208, by: 16) {
            let part = try image.cropped(x: left, y: 0, width: 16, height: 64)
            let mean = part.withUnsafeBytes { pixels in
                stride(from: 0, to: pixels.count, by: 4).reduce(0) { $0 + Int(pixels[$1]) }
            }
            #expect(abs(mean / (16 * 64) - (left + 8)) <= 3, "from \(left)")
        }
    }

    @Test func `pixels of a GIF are opaque from an alpha of 128`() throws {
        let image = try DecodedImage(width: 4, height: 1) { memory in
            for (index, alpha) in [0, 127, 128, 255].enumerated() {
                memory.storeBytes(of: SIMD4(9, 8, 7, UInt8(alpha)), toByteOffset: index * 4, as: SIMD4<UInt8>.self)
            }
        }
        let read = try decoded(encoded(image))
        #expect((0..<4).map { read[$0, 0] } == [SIMD4(), SIMD4(), SIMD4(9, 8, 7, 255), SIMD4(9, 8, 7, 255)])
        // Nothing but transparency.
        let clear = try DecodedImage.plain(3, 3, SIMD4(1, 2, 3, 0))
        for colors in [2, 256] { #expect(try decoded(encoded(clear, colors: colors))[2, 2] == SIMD4()) }
    }

    @Test(arguments: [(1, 1), (65_535, 1), (1, 65_535), (3, 2)])
    func `a GIF is written with the smallest and the largest sides`(_ width: Int, _ height: Int) throws {
        var random = SeededGenerator(for: "GIFEncodingTests")
        let image = try picture(
            width: width, height: height, colors: min(200, width * height), transparent: true, &random)
        #expect(try decoded(encoded(image)).hash == image.hash)
    }

    @Test func `GIF options out of range and sides that are too long are errors`() throws {
        let image = try DecodedImage.plain(4, 4, [1, 1, 1, 255])
        let wide = try DecodedImage.plain(65_536, 1, [1, 1, 1, 255])
        for (colors, image) in [(1, image), (0, image), (-1, image), (257, image), (256, wide)] {
            let error = #expect(throws: ImageCodecError.self) { try encoded(image, colors: colors) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func `equal pixels are encoded to equal bytes`() throws {
        let first = try encoded(photo())
        #expect(try first == encoded(photo()))
    }

    @Test func `noise of any size, transparency and number of colours is encoded correctly`() throws {
        var random = SeededGenerator(for: "GIFEncodingTests.noise")
        for _ in 0..<300 {
            let (width, height) = (Int.random(in: 1...40, using: &random), Int.random(in: 1...40, using: &random))
            let mask = [0, 0x80, 0xE0, 0xFF].randomElement(using: &random) ?? 0
            let image = try DecodedImage(width: width, height: height) { memory in
                for index in memory.indices { memory[index] = UInt8.random(in: 0...255, using: &random) & UInt8(mask) }
            }
            let colors = Int.random(in: 2...256, using: &random)
            let read = try decoded(encoded(image, colors: colors, isDithered: Bool.random(using: &random)))
            #expect((read.width, read.height) == (width, height))
            for y in 0..<height {
                for x in 0..<width { #expect((image[x, y].w >= 128) == (read[x, y].w == 255)) }
            }
            #expect(read.withUnsafeBytes { Set($0.bindMemory(to: UInt32.self)) }.count <= colors)
        }
    }

    @Test func `a GIF that would exceed the memory limit is an error`() throws {
        var random = SeededGenerator(for: "GIFEncodingTests")
        let noise = try picture(width: 1000, height: 1000, colors: 5000, transparent: false, &random)
        let encoder = ImageEncoder.gif()
        var limits = DecodingLimits()
        limits.memory = noise.cost + encoder.memory(width: 1000, height: 1000, isOpaque: true)
        let error = #expect(throws: ImageCodecError.self) {
            try encoder.encode(noise, within: ImageBudget(limits: limits))
        }
        #expect(error?.code == .limitExceeded)
        limits.memory += 3 * 1_600_000
        #expect(try encoder.encode(noise, within: ImageBudget(limits: limits)).count < 1_600_000)
    }
}
