import Testing

@testable import ImageCodec

/// A frame of an animation, composed with those before it.
@Suite struct FrameTests {
    private static let red = SIMD4<UInt8>(255, 0, 0, 255)
    private static let green = SIMD4<UInt8>(0, 255, 0, 255)
    private static let blue = SIMD4<UInt8>(0, 0, 255, 255)
    private static let clear = SIMD4<UInt8>(0, 0, 0, 0)

    private func frame(_ number: Int, _ bytes: [UInt8]) throws(ImageCodecError) -> DecodedImage {
        var decoder = ImageDecoder()
        decoder.frame = number
        return try decoder.decode(ImageSource(bytes))
    }

    private func code(_ number: Int, _ bytes: [UInt8]) -> ImageCodecError.Code? {
        do throws(ImageCodecError) {
            _ = try frame(number, bytes)
            return nil
        } catch {
            return error.code
        }
    }

    /// A red canvas, a green frame at its upper left, then a blue one at its lower right.
    private func sample(disposal: UInt8) -> [UInt8] {
        var sample = GIFSample(width: 3, height: 3)
        sample.append(.init(width: 3, height: 3, fill: 0))
        var middle = GIFSample.Frame(width: 2, height: 2, fill: 1)
        middle.disposal = disposal
        sample.append(middle)
        sample.append(.init(x: 2, y: 2, width: 5, height: 5, fill: 2))
        return sample.finished()
    }

    @Test(arguments: [(0, green), (1, green), (2, clear), (3, red)] as [(UInt8, SIMD4<UInt8>)])
    func `a frame of a GIF is disposed of as the file says`(_ disposal: UInt8, _ left: SIMD4<UInt8>) throws {
        let bytes = sample(disposal: disposal)
        #expect(try frame(0, bytes)[0, 0] == Self.red)
        let second = try frame(1, bytes)
        #expect(second[0, 0] == Self.green && second[2, 2] == Self.red && second.isOpaque)
        let third = try frame(2, bytes)
        #expect(third[0, 0] == left && third[1, 1] == left)
        // The frame is cut at the edge of the canvas.
        #expect(third[2, 2] == Self.blue && third[2, 0] == Self.red && (third.width, third.height) == (3, 3))
    }

    @Test func `transparent pixels show the previous frame, also if the frame is interlaced`() throws {
        var sample = GIFSample(width: 1, height: 9)
        sample.append(.init(width: 1, height: 9, fill: 0))
        var next = GIFSample.Frame(width: 1, height: 9, fill: 1)
        for row in stride(from: 0, to: 9, by: 2) { next.indices[row] = 3 }
        next.transparent = 3
        next.isInterlaced = true
        sample.append(next)
        let image = try frame(1, sample.finished())
        for row in 0..<9 { #expect(image[0, row] == (row % 2 == 0 ? Self.red : Self.green)) }
    }

    @Test func `a frame that does not exist is an error, also in a still image`() throws {
        #expect(code(3, sample(disposal: 0)) == .invalidArgument)
        #expect(code(-1, sample(disposal: 0)) == .invalidArgument)
        #expect(code(1, try Corpus.shared.bytes("jpeg/Pillow__hopper.jpg")) == .invalidArgument)
        #expect(code(1, try Corpus.shared.bytes("webp/Pillow__hopper.webp")) == .invalidArgument)
        #expect(code(1000, try Corpus.shared.bytes("hostile/gen__gif_10000_frames.gif")) == .limitExceeded)
        #expect(code(999, try Corpus.shared.bytes("hostile/gen__gif_10000_frames.gif")) == nil)
    }

    @Test func `a frame that is larger than the canvas counts with its own size`() throws {
        var sample = GIFSample(width: 2, height: 2)
        sample.append(.init(width: 2, height: 2, fill: 0))
        sample.append(.init(width: 20, height: 20, fill: 1))
        var decoder = ImageDecoder()
        decoder.frame = 1
        decoder.limits.pixels = 400
        let image = try decoder.decode(ImageSource(sample.finished()))
        #expect((image.width, image.height) == (2, 2) && image[1, 1] == Self.green)
        decoder.limits.pixels = 399
        let error = #expect(throws: ImageCodecError.self) { try decoder.decode(ImageSource(sample.finished())) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `a frame is resized as a still image is`() throws {
        var decoder = ImageDecoder()
        decoder.frame = 2
        let source = try Corpus.shared.source("gif/Pillow__dispose_bgnd.gif")
        let whole = try decoder.decode(source)
        let small = try decoder.decode(source, to: .fit(20, 20))
        #expect(try whole.resized(to: .fit(20, 20)).meanDifference(from: small) == 0)
    }

    // A frame that is disposed of to the background leaves clear pixels in browsers, and the background's colour in Pillow.
    @Test(arguments: ["dispose_prev", "multiple_comments", "different_transparency"])
    func `every frame of a GIF has Pillow's pixels`(_ name: String) throws {
        let expected = try #require(Self.hashes[name])
        let bytes = try Corpus.shared.bytes("gif/Pillow__\(name).gif")
        for (number, hash) in expected.enumerated() {
            #expect(try frame(number, bytes).withoutHiddenColors.hash == hash, "frame \(number)")
        }
        #expect(code(expected.count, bytes) == .invalidArgument)
    }

    @Test func `every frame of an animated WebP has Pillow's pixels`() throws {
        let bytes = try Corpus.shared.bytes("webp/\(Self.animatedWebP)")
        for (number, hash) in Self.webPHashes {
            #expect(try frame(number, bytes).withoutHiddenColors.hash == hash, "frame \(number)")
        }
        #expect(code(99, bytes) == .invalidArgument)
        #expect(code(1, Array(bytes.dropLast(100))) == .truncated)
    }
}

/// The pixels of all frames by Pillow 13: R, G, B, A, with the colours of transparent pixels set to 0.
extension FrameTests {
    fileprivate static let hashes: [String: [String]] = [
        "dispose_prev": [
            "a49ff97a78ad85cdb1cdd6a3bf8dc2da1cc07a5408d3663e82c773a19539c351",
            "d18c835feaebadeec4272cd049f84121e21357e6e007fb41dabd2b2c57b8e91b",
            "7859fce99128f28918ef6095ff98043c2c9f9797957ce28d468afe1d1324d196",
            "86fb7ae3f732297e942e8b673fb3cfd1f180bf3f9b01e323dd63dbfdfbd90a83",
            "ed8fc6fd46aa7edc06de2c54823eeaf65d4be0cac716ec32a601944915d9b1c5",
        ],
        "multiple_comments": [
            "a49ff97a78ad85cdb1cdd6a3bf8dc2da1cc07a5408d3663e82c773a19539c351",
            "d18c835feaebadeec4272cd049f84121e21357e6e007fb41dabd2b2c57b8e91b",
            "7859fce99128f28918ef6095ff98043c2c9f9797957ce28d468afe1d1324d196",
            "86fb7ae3f732297e942e8b673fb3cfd1f180bf3f9b01e323dd63dbfdfbd90a83",
            "ed8fc6fd46aa7edc06de2c54823eeaf65d4be0cac716ec32a601944915d9b1c5",
        ],
        "different_transparency": [
            "9979a9859b0015ba46cd795eb47f5099dbb50b5580b95ced478217cbf3b48119",
            "2fb377a94dc0d1dad212a103eae40e735a072f5b66265435abfc5750e22710ce",
        ],
    ]

    fileprivate static let animatedWebP = "gen__animated.webp"
    fileprivate static let webPHashes: [(Int, String)] = [
        (0, "5be9719af2a98859b75f911578f80369eada75d775974695e99878cc152ef4d8"),
        (1, "4198cf948b3bee774bb48627a19042e84d88d3249e617cf28d934807a62aa584"),
        (2, "4ff5fd5cf1093a502bc003485e0d117782931495c5486677706ae3ad9eb3dd17"),
        (3, "d6171dcc4db80ea3bd5f14c69469d9b6e14fa18dcac8e393f6bb749f1d51cb84"),
        (4, "0ba3461fcaa81f37532d2ba8a241f7d106a24cf9cd6880989673efd709968d47"),
    ]
}
