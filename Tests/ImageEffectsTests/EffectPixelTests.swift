import ImageCodec
import ImageEffects
import Testing

@Suite("Trimming, laying over, and corners")
struct EffectPixelTests {
    /// White with a red rectangle.
    private func framed(_ border: SIMD4<UInt8> = SIMD4(255, 255, 255, 255)) throws -> DecodedImage {
        try DecodedImage(width: 20, height: 10) { memory in
            for y in 0..<10 {
                for x in 0..<20 {
                    let color = (3..<9).contains(x) && (2..<8).contains(y) ? SIMD4<UInt8>(200, 0, 0, 255) : border
                    for channel in 0..<4 { memory[(y * 20 + x) * 4 + channel] = color[channel] }
                }
            }
        }
    }

    @Test func `trimming removes a border of one colour, within the tolerance`() throws {
        let image = try framed().trimmed(tolerance: 10)
        #expect((image.width, image.height) == (6, 6) && image[0, 0] == SIMD4(200, 0, 0, 255))
        #expect(try framed().trimmed(tolerance: 255).width == 20)
        let near = try DecodedImage(width: 4, height: 1) { memory in
            for index in 0..<4 {
                memory[index * 4] = [100, 105, 106, 100][index]
                memory[index * 4 + 3] = 255
            }
        }
        #expect(try near.trimmed(tolerance: 5).width == 1)
        #expect(try near.trimmed(tolerance: 4).width == 2)
        #expect(try near.trimmed(tolerance: 6).width == 4)
    }

    @Test func `a transparent border counts as one colour, whatever its pixels hold`() throws {
        let image = try DecodedImage(width: 5, height: 5) { memory in
            for index in 0..<25 { memory[index * 4] = UInt8(index * 10) }
            memory[12 * 4 + 3] = 255
        }
        let trimmed = try image.trimmed(tolerance: 0)
        #expect((trimmed.width, trimmed.height) == (1, 1) && trimmed[0, 0] == SIMD4(120, 0, 0, 255))
    }

    @Test func `trimming keeps an image of one colour`() throws {
        let image = try DecodedImage(width: 7, height: 3) { memory in for index in 0..<84 { memory[index] = 9 } }
        #expect(try image.trimmed(tolerance: 0).width == 7)
    }

    @Test func `an image over another is mixed by its opacity, and cut off at the edges`() throws {
        let base = try DecodedImage(width: 4, height: 2) { memory in
            for index in 0..<8 {
                memory[index * 4 + 2] = 200
                memory[index * 4 + 3] = 255
            }
        }
        let mark = try DecodedImage(width: 3, height: 3) { memory in
            for index in 0..<9 {
                memory[index * 4] = 100
                memory[index * 4 + 3] = 255
            }
        }
        let whole = try base.overlaid(with: mark, x: 2, y: -2)
        #expect(whole[1, 0] == SIMD4(0, 0, 200, 255) && whole[2, 0] == SIMD4(100, 0, 0, 255))
        #expect(whole[3, 0] == SIMD4(100, 0, 0, 255) && whole[2, 1] == SIMD4(0, 0, 200, 255))
        let half = try base.overlaid(with: mark, x: 0, y: 0, opacity: 0.5)
        #expect(half[0, 0] == SIMD4(50, 0, 100, 255))
        #expect(try base.overlaid(with: mark, x: 0, y: 0, opacity: 0)[0, 0] == SIMD4(0, 0, 200, 255))
        #expect(throws: ImageCodecError.self) { try base.overlaid(with: mark, x: 0, y: 0, opacity: .nan) }
        #expect(try base.overlaid(with: mark, x: 9, y: 9)[3, 1] == SIMD4(0, 0, 200, 255))
        let clear = try DecodedImage(width: 1, height: 1) { _ in }
        #expect(try clear.overlaid(with: mark, x: 0, y: 0)[0, 0] == SIMD4(100, 0, 0, 255))
        #expect(try clear.overlaid(with: mark, x: 0, y: 0, opacity: 0.25)[0, 0] == SIMD4(100, 0, 0, 64))
    }

    /// Positions and lengths at the edges of their type.
    private static let extremes: [Int] = [.min, .min + 1, -32_768, -1, 0, 1, 32_768, .max - 1, .max]

    @Test(arguments: extremes, extremes)
    func `an image far outside of another changes no pixel, however far it is`(x: Int, y: Int) throws {
        let base = try plain(4, 3, [1, 2, 3, 255])
        let result = try base.overlaid(with: try plain(1, 1, [9, 9, 9, 255]), x: x, y: y)
        let changed: SIMD4<UInt8> = [9, 9, 9, 255]
        for row in 0..<3 {
            for column in 0..<4 {
                #expect(result[column, row] == (column == x && row == y ? changed : [1, 2, 3, 255]))
            }
        }
    }

    @Test(arguments: extremes, extremes)
    func `parts, borders and tolerances of any size give an image or an error`(start: Int, length: Int) throws {
        let image = try plain(4, 3, [1, 2, 3, 255])
        let effects: [ImageProcessor] = [
            .crop(x: start, y: start, width: length, height: length),
            .region(.pixels(x: start, y: start, width: length, height: length)),
            .region(.shares(x: Double(start), y: Double(start), width: Double(length), height: Double(length))),
            .pad(by: start), .trim(tolerance: start), .resize(.fit(start, length)), .resize(.cover(start, length)),
        ]
        var limits = DecodingLimits()
        limits.pixels = 1 << 20
        for effect in effects {
            var footprint = RenderingFootprint(width: 4, height: 3, mayHaveAlpha: false)
            effect.add(to: &footprint)
            #expect(footprint.area > 0 && footprint.memory >= 0)
            let result = try? effect.process(image, within: ImageBudget(limits: limits))
            #expect(result.map { $0.width > 0 && $0.height > 0 } != false, "\(effect)")
        }
    }

    @Test func `a border takes the memory of one image of the new size, with and without a colour`() throws {
        let image = try plain(4, 3, [1, 2, 3, 100])
        for effect in [ImageProcessor.pad(by: 2), .pad(by: 2, color: .white)] {
            var footprint = RenderingFootprint(width: 4, height: 3, mayHaveAlpha: true)
            effect.add(to: &footprint)
            #expect(footprint.memory == 8 * 7 * 4)
            var limits = DecodingLimits()
            limits.memory = image.cost + footprint.memory
            #expect(try effect.process(image, within: ImageBudget(limits: limits)).width == 8)
            limits.memory -= 1
            #expect(throws: ImageCodecError.self) { try effect.process(image, within: ImageBudget(limits: limits)) }
        }
    }

    @Test func `rounded corners are transparent outside, opaque inside and soft between`() throws {
        let image = try plain(40, 30, [10, 20, 30, 255])
        let round = try image.roundingCorners(radius: 10)
        #expect(round[0, 0] == [0, 0, 0, 0] && round[39, 29].w == 0 && round[20, 0].w == 255 && round[0, 15].w == 255)
        #expect((0..<10).contains { (1..<255).contains(Int(round[$0, 0].w)) })
        let circle = try image.circled()
        #expect(circle.width == 30 && circle.height == 30 && circle[15, 15].w == 255 && circle[2, 2].w == 0)
        let area = (0..<30).reduce(0) { sum, y in (0..<30).reduce(sum) { $0 + Int(circle[$1, y].w) } }
        #expect(abs(Double(area) / 255 - Double.pi * 225) < 5)
        #expect(throws: ImageCodecError.self) { try image.roundingCorners(radius: -1) }
        #expect(try plain(1, 1, [1, 2, 3, 255]).circled().width == 1)
    }

    private func plain(_ width: Int, _ height: Int, _ pixel: SIMD4<UInt8>) throws -> DecodedImage {
        try DecodedImage(width: width, height: height) { pixels in
            for index in 0..<pixels.count { pixels[index] = pixel[index % 4] }
        }
    }
}
