import Testing

@testable import ImageCodec

@Suite("Colours, sharpness, parts and borders")
struct OperationTests {
    private func pixel(_ color: SIMD4<UInt8>, count: Int = 1) throws -> DecodedImage {
        try DecodedImage(width: count, height: 1) { memory in
            for index in 0..<count * 4 { memory[index] = color[index % 4] }
        }
    }

    @Test func `brightness, contrast and saturation match the CSS filters`() throws {
        let image = try pixel(SIMD4(100, 150, 200, 77))
        let cases: [(Double, Double, Double, SIMD4<UInt8>)] = [
            (1, 1, 1, SIMD4(100, 150, 200, 77)), (0.5, 1, 1, SIMD4(50, 75, 100, 77)),
            (2, 1, 1, SIMD4(200, 255, 255, 77)), (0, 1, 1, SIMD4(0, 0, 0, 77)),
            // (v - 127.5) * 2 + 127.5, and halfway to the middle.
            (1, 2, 1, SIMD4(73, 173, 255, 77)), (1, 0.5, 1, SIMD4(114, 139, 164, 77)),
            (1, 0, 1, SIMD4(128, 128, 128, 77)),
            // The luma is 100 × 0.2126 + 150 × 0.7152 + 200 × 0.0722 = 143.
            (1, 1, 0, SIMD4(143, 143, 143, 77)), (1, 1, 2, SIMD4(57, 157, 255, 77)),
        ]
        for (brightness, contrast, saturation, expected) in cases {
            let changed = try image.adjusted(brightness: brightness, contrast: contrast, saturation: saturation)
            let difference = SIMD4<Int>(truncatingIfNeeded: changed[0, 0]) &- SIMD4(truncatingIfNeeded: expected)
            #expect(
                (0..<4).allSatisfy { abs(difference[$0]) <= 1 },
                "\(brightness), \(contrast), \(saturation): \(changed[0, 0])")
        }
        for wrong in [-0.1, 101, .nan, .infinity] {
            #expect(throws: ImageCodecError.self) { try image.adjusted(brightness: wrong) }
        }
    }

    @Test func `a sharpened edge has more contrast, an even area stays`() throws {
        let edge = try DecodedImage(width: 20, height: 20) { memory in
            for index in 0..<400 {
                let value: UInt8 = index % 20 < 10 ? 80 : 160
                for channel in 0..<3 { memory[index * 4 + channel] = value }
                memory[index * 4 + 3] = 200
            }
        }
        let sharp = try edge.sharpened(amount: 1)
        #expect(sharp[9, 10].x < 70 && sharp[10, 10].x > 170)
        #expect(sharp[1, 10] == SIMD4(80, 80, 80, 200) && sharp[18, 10] == SIMD4(160, 160, 160, 200))
        let sharper = try edge.sharpened(amount: 3)
        #expect(sharper[9, 10].x < sharp[9, 10].x && sharper[10, 10].x > sharp[10, 10].x)
        #expect(try edge.sharpened(amount: 0)[9, 10] == edge[9, 10])
        for wrong in [-1, 101, .nan] { #expect(throws: ImageCodecError.self) { try edge.sharpened(amount: wrong) } }
    }

    @Test func `a region is clipped to the image and never empty`() {
        let cases: [(ImageRegion, Range<Int>, Range<Int>)] = [
            (.pixels(x: 2, y: 3, width: 4, height: 5), 2..<6, 3..<8),
            (.pixels(x: 8, y: 0, width: 100, height: 100), 8..<10, 0..<20),
            (.pixels(x: 50, y: 50, width: 9, height: 9), 9..<10, 19..<20),
            (.pixels(x: -5, y: -5, width: .max, height: 25), 0..<10, 0..<20),
            (.pixels(x: -10, y: -1, width: 20, height: 2), 0..<10, 0..<1),
            (.pixels(x: -15, y: -3, width: 18, height: 10), 0..<3, 0..<7),
            (.pixels(x: 4, y: 0, width: 0, height: -7), 4..<5, 0..<1),
            (.pixels(x: 9, y: 19, width: .max, height: .max), 9..<10, 19..<20),
            // Outside.
            (.pixels(x: -100, y: .min, width: 20, height: .max), 0..<1, 0..<1),
            (.shares(x: -0.5, y: -1, width: 1, height: 1.25), 0..<5, 0..<5),
            (.shares(x: 0.5, y: 0, width: 0, height: -1), 5..<6, 0..<1),
            (.shares(x: 0.5, y: 0.25, width: 0.5, height: 0.5), 5..<10, 5..<15),
            (.shares(x: 0.9, y: 0, width: 1, height: 0.001), 9..<10, 0..<1),
            (.shares(x: 0, y: -1, width: .infinity, height: .nan), 0..<10, 0..<1),
            (.shares(x: .nan, y: 0, width: 1, height: 1), 0..<1, 0..<20),
        ]
        for (region, x, y) in cases {
            let bounds = region.bounds(width: 10, height: 20)
            #expect(bounds.x == x && bounds.y == y, "\(region): \(bounds)")
        }
    }

    @Test(arguments: [
        ImageRegion.pixels(x: 10, y: 0, width: 5, height: 5), .pixels(x: 0, y: 20, width: 5, height: 5),
        .pixels(x: .max, y: .max, width: 1, height: 1), .shares(x: 1, y: 0, width: 0.5, height: 0.5),
        .pixels(x: -100, y: 0, width: 20, height: 5), .pixels(x: 0, y: -5, width: 5, height: 5),
        .pixels(x: -1, y: 0, width: 0, height: 5), .pixels(x: .min, y: 0, width: .max, height: 5),
        .pixels(x: 0, y: .min, width: 5, height: .min), .shares(x: -0.5, y: 0, width: 0.5, height: 1),
        .shares(x: 0, y: -0.5, width: 1, height: 0.25), .shares(x: -1, y: 0, width: -1, height: 1),
        .shares(x: -.infinity, y: 0, width: 9, height: 1),
    ])
    func `a part outside of the image is refused`(region: ImageRegion) throws {
        let image = try DecodedImage.plain(10, 20, [9, 8, 7, 255])
        let error = #expect(throws: ImageCodecError.self) { try image.cropped(to: region) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func `a border is transparent, or of a colour that is also seen through the image`() throws {
        let image = try pixel(SIMD4(200, 100, 0, 0))
        let clear = try image.padded(by: 2)
        #expect((clear.width, clear.height) == (5, 5) && clear[0, 0] == SIMD4(0, 0, 0, 0) && !clear.isOpaque)
        let white = try image.padded(by: 1, color: .white)
        #expect((white.width, white.height) == (3, 3) && white.isOpaque)
        #expect(white[0, 0] == SIMD4(255, 255, 255, 255) && white[1, 1] == SIMD4(255, 255, 255, 255))
        #expect(try image.padded(by: 0).width == 1)
        for wrong in [-1, 40_000] { #expect(throws: ImageCodecError.self) { try image.padded(by: wrong) } }
    }
}
