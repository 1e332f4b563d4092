import Testing

@testable import ImageCodec

@Suite struct ProcessingTests {
    /// Red tells the column, green the row.
    private func grid(_ width: Int, _ height: Int) throws -> DecodedImage {
        try DecodedImage(width: width, height: height) { pixels in
            for index in 0..<(width * height) {
                pixels[index * 4] = UInt8(index % width)
                pixels[index * 4 + 1] = UInt8(index / width)
                pixels[index * 4 + 3] = 255
            }
        }
    }

    @Test func `a crop has the pixels of its part, and one beyond the image is an error`() throws {
        let image = try grid(20, 10)
        let part = try image.cropped(x: 3, y: 4, width: 5, height: 2)
        #expect(part.width == 5 && part.height == 2 && part[0, 0] == [3, 4, 0, 255] && part[4, 1] == [7, 5, 0, 255])
        for (x, y, width, height) in [(-1, 0, 2, 2), (19, 0, 2, 2), (0, 0, 0, 1), (0, 9, 1, 2), (.max, 0, 1, 1)] {
            #expect(throws: ImageCodecError.self) { try image.cropped(x: x, y: y, width: width, height: height) }
        }
    }

    @Test func `each orientation puts the stored corner where Exif says`() throws {
        let image = try grid(4, 3)
        // The displayed position of the stored upper left.
        let corners: [ImageOrientation: (Int, Int)] = [
            .up: (0, 0), .upMirrored: (3, 0), .down: (3, 2), .downMirrored: (0, 2), .leftMirrored: (0, 0),
            .right: (2, 0), .rightMirrored: (2, 3), .left: (0, 3),
        ]
        for (orientation, corner) in corners {
            let seen = try image.oriented(orientation)
            #expect(seen.width == (orientation.swapsSides ? 3 : 4))
            #expect(seen[corner.0, corner.1] == [0, 0, 0, 255], "\(orientation)")
        }
    }

    @Test func `gray has the luma of the colour, and keeps alpha`() throws {
        #expect(try DecodedImage.plain(3, 3, [255, 255, 255, 7]).grayscaled()[1, 1] == [255, 255, 255, 7])
        let green = try DecodedImage.plain(3, 3, [0, 255, 0, 255]).grayscaled()[1, 1]
        #expect(green.x == green.y && green.y == green.z && abs(Int(green.x) - 182) <= 1)
    }

    @Test func `bitonal pixels are black or white by their luma, and keep alpha`() throws {
        for (color, value) in [
            ([0, 0, 255, 255], 0), ([0, 255, 0, 255], 255), ([255, 0, 0, 9], 0), ([127, 127, 127, 255], 0),
            ([128, 128, 128, 255], 255), ([255, 255, 255, 0], 255),
        ] as [(SIMD4<UInt8>, UInt8)] {
            let pixel = try DecodedImage.plain(3, 3, color).bitonal()[1, 1]
            #expect(pixel == [value, value, value, color.w], "\(color)")
        }
    }

    @Test func `a blur spreads a point like a Gaussian, keeps the sum, and leaves a plain colour`() throws {
        let plain = try DecodedImage.plain(9, 5, [40, 50, 60, 255])
        #expect(try plain.blurred(sigma: 30).meanDifference(from: plain) == 0)
        #expect(try plain.blurred(sigma: 0).meanDifference(from: plain) == 0)
        let point = try DecodedImage(width: 61, height: 61) { pixels in
            for index in 0..<(61 * 61) { pixels[index * 4 + 3] = 255 }
            for y in 28...32 { for x in 28...32 { pixels[(y * 61 + x) * 4] = 250 } }
        }
        let soft = try point.blurred(sigma: 4)
        var sum = 0.0
        var variance = 0.0
        for y in 0..<61 {
            for x in 0..<61 {
                sum += Double(soft[x, y].x)
                variance += Double(soft[x, y].x) * Double((x - 30) * (x - 30))
            }
        }
        #expect(abs(sum / (25 * 250) - 1) < 0.06)
        // The variance of the blur, plus that of the blurred square.
        #expect(abs(variance / sum - (16 + 2)) < 2.5)
        for sigma in [-1, .nan, .infinity] {
            #expect(throws: ImageCodecError.self) { try plain.blurred(sigma: sigma) }
        }
    }
}
