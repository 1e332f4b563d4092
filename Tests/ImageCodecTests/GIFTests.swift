import Testing

@testable import ImageCodec

/// The first frame of a GIF: composed on the canvas as in browsers, whatever the file is made of.
@Suite struct GIFTests {
    private static let red = SIMD4<UInt8>(255, 0, 0, 255)
    private static let green = SIMD4<UInt8>(0, 255, 0, 255)
    private static let clear = SIMD4<UInt8>(0, 0, 0, 0)

    private func decode(_ bytes: [UInt8], truncated: Bool = false) throws(ImageCodecError) -> DecodedImage {
        var decoder = ImageDecoder()
        decoder.allowTruncated = truncated
        return try decoder.decode(ImageSource(bytes))
    }

    private func code(_ bytes: [UInt8]) -> ImageCodecError.Code? {
        do throws(ImageCodecError) {
            _ = try decode(bytes)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `a frame smaller than the canvas has transparent surroundings`() throws {
        var sample = GIFSample(width: 4, height: 3)
        sample.append(.init(x: 1, y: 1, width: 2, height: 1, fill: 0))
        let image = try decode(sample.finished())
        #expect((image.width, image.height) == (4, 3) && !image.isOpaque)
        for y in 0..<3 {
            for x in 0..<4 { #expect(image[x, y] == (y == 1 && (1...2).contains(x) ? Self.red : Self.clear)) }
        }
    }

    @Test func `a frame beyond the logical screen enlarges the canvas`() throws {
        var sample = GIFSample(width: 1, height: 1)
        sample.append(.init(x: 1, y: 2, width: 2, height: 2, fill: 1))
        let image = try decode(sample.finished())
        #expect((image.width, image.height) == (3, 4))
        #expect(image[2, 3] == Self.green && image[0, 0] == Self.clear)
        var large = GIFSample(width: 1, height: 1)
        large.append([0x2C, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 8])
        #expect(code(large.finished()) == .limitExceeded)
    }

    @Test(arguments: [1, 2, 3, 5, 8, 9, 17]) func `an interlaced frame has its rows in order`(_ height: Int) throws {
        var frame = GIFSample.Frame(width: 3, height: height, fill: 0)
        for row in 0..<height { frame.indices[row * 3] = UInt8(row % 4) }
        var plain = GIFSample(width: 3, height: height)
        plain.append(frame)
        frame.isInterlaced = true
        var interlaced = GIFSample(width: 3, height: height)
        interlaced.append(frame)
        #expect(try decode(interlaced.finished()).meanDifference(from: decode(plain.finished())) == 0)
        #expect(try decode(plain.finished())[0, height - 1] == Self.color(UInt8((height - 1) % 4)))
        #expect(try ImageInfo.read(ImageSource(interlaced.finished())).isProgressive)
    }

    private static func color(_ index: UInt8) -> SIMD4<UInt8> {
        let color = GIFSample.rgb[Int(index)]
        return SIMD4(color[0], color[1], color[2], 255)
    }

    @Test func `a local palette counts before the global one, and an index without a colour is black`() throws {
        var frame = GIFSample.Frame(width: 2, height: 1, fill: 0)
        frame.indices = [1, 200]
        frame.palette = [[9, 8, 7], [6, 5, 4], [3, 2, 1], [0, 0, 0]]
        var sample = GIFSample(width: 2, height: 1)
        sample.append(frame)
        let image = try decode(sample.finished())
        #expect(image[0, 0] == SIMD4(6, 5, 4, 255) && image[1, 0] == SIMD4(0, 0, 0, 255) && image.isOpaque)
        var none = GIFSample(width: 1, height: 1, palette: nil)
        none.append(.init(width: 1, height: 1, fill: 3))
        #expect(try decode(none.finished())[0, 0] == SIMD4(0, 0, 0, 255))
    }

    @Test func `transparent pixels are clear, even if their index is not in the palette`() throws {
        for index: UInt8 in [1, 250] {
            var frame = GIFSample.Frame(width: 2, height: 1, fill: 0)
            frame.indices = [0, index]
            frame.transparent = index
            var sample = GIFSample(width: 2, height: 1)
            sample.append(frame)
            let image = try decode(sample.finished())
            #expect(image[0, 0] == Self.red && image[1, 0] == Self.clear)
            #expect(try ImageInfo.read(ImageSource(sample.finished())).hasAlpha)
        }
    }

    @Test func `the first frame does not depend on later bytes`() throws {
        var sample = GIFSample(width: 2, height: 2)
        sample.append([0x21, 0xFE, 3, 0x3C, 0x3F, 0x21, 0])  // a comment
        sample.append(.init(width: 2, height: 2, fill: 0))
        let first = try decode(sample.finished())
        for rest: [UInt8] in [[], [0x21], [0x2C, 0], [0, 0, 0x3B], [0x99], Array(repeating: 0xFF, count: 300)] {
            #expect(try decode(sample.bytes + rest).meanDifference(from: first) == 0, "\(rest.prefix(3))")
            #expect(try ImageInfo.read(ImageSource(sample.bytes + rest)).frames == 1)
        }
        sample.append(.init(x: 90, y: 90, width: 9, height: 9, fill: 1))
        sample.append(.init(width: 2, height: 2, fill: 1))
        #expect(try decode(sample.finished()).meanDifference(from: first) == 0)
        #expect(try ImageInfo.read(ImageSource(sample.finished())).frames == 3)
    }

    @Test func `a GIF without a frame or without pixels is an error`() {
        let empty = GIFSample(width: 2, height: 2)
        #expect(code(empty.finished()) == .corrupt)
        #expect(code(empty.bytes) == .truncated)
        #expect(code(Array(empty.bytes.prefix(8))) == .truncated)
        #expect(code(empty.bytes + [0x21, 0xF9, 4, 0]) == .truncated)
        var flat = GIFSample(width: 2, height: 2)
        flat.append([0x2C, 0, 0, 0, 0, 0, 0, 2, 0, 0])
        #expect(code(flat.finished()) == .corrupt)
        var screen = GIFSample(width: 0, height: 0)
        screen.append(.init(width: 1, height: 1, fill: 0))
        #expect(code(screen.finished()) == nil)
    }

    @Test(arguments: [false, true]) func `missing pixels are an error, or clear with allowTruncated`(
        _ isInterlaced: Bool
    ) throws {
        var frame = GIFSample.Frame(width: 4, height: 8, fill: 0)
        frame.isInterlaced = isInterlaced
        var whole = GIFSample(width: 4, height: 8)
        whole.append(frame)
        frame.written = 10
        var short = GIFSample(width: 4, height: 8)
        short.append(frame)
        for (bytes, expected) in [
            (short.finished(), ImageCodecError.Code.corrupt), (Array(whole.bytes.dropLast(20)), .truncated),
        ] {
            #expect(code(bytes) == expected)
            let image = try decode(bytes, truncated: true)
            #expect(image.damage?.code == expected)
            #expect(image[3, 7] == Self.clear && image[0, isInterlaced ? 1 : 2] == Self.clear)
            // giflib takes a block of data as a whole.
            if expected == .corrupt { #expect(image[0, 0] == Self.red) }
        }
    }

    @Test func `the time limit holds while frames are skipped and pixels decoded`() throws {
        let source = try Corpus.shared.source("hostile/gen__gif_10000_frames.gif")
        var limits = DecodingLimits()
        #expect(try ImageInfo.read(source, limits: limits).frames == 10_000)
        limits.seconds = 0
        let error = #expect(throws: ImageCodecError.self) { try ImageInfo.read(source, limits: limits) }
        #expect(error?.code == .limitExceeded)
        let cancellation = ImageCancellation()
        cancellation.cancel(afterChecks: 3)
        let stopped = #expect(throws: ImageCodecError.self) {
            try ImageDecoder().decode(source, within: ImageBudget(cancellation: cancellation))
        }
        #expect(stopped?.code == .cancelled)
    }
}
