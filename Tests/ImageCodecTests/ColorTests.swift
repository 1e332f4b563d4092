import Testing

@testable import ImageCodec

@Suite struct ColorTests {
    private func decode(_ path: String, keeping: Bool) throws -> DecodedImage {
        var decoder = ImageDecoder()
        if keeping { decoder.color = .keepProfile }
        return try decoder.decode(Corpus.shared.source(path))
    }

    @Test func `gAMA is applied as browsers do, and 1/2.2 counts as sRGB`() throws {
        // The same picture, written for six gammas: PngSuite's g* images look alike when theirs are applied.
        let names = ["g03", "g04", "g05", "g07", "g10", "g25"].map { "png/PngSuite__\($0)n2c08.png" }
        let reference = try decode("png/PngSuite__g04n2c08.png", keeping: false)
        for name in names {
            let applied = try decode(name, keeping: false).meanDifference(from: reference)
            #expect(applied < 6, "\(name)")
        }
        let raw = try decode("png/PngSuite__g25n2c08.png", keeping: true)
        #expect(raw.meanDifference(from: reference) > 20)
        let near = try decode("png/PngSuite__g05n2c08.png", keeping: true)
        #expect(near.meanDifference(from: try decode("png/PngSuite__g05n2c08.png", keeping: false)) > 0)
    }

    @Test func `a colour profile is converted, or kept together with the stored pixels`() throws {
        let big = "jpeg/Pillow__icc_profile_big.jpg"
        let kept = try decode(big, keeping: true)
        let converted = try decode(big, keeping: false)
        #expect(kept.profile != nil && converted.profile == nil)
        #expect(kept.meanDifference(from: converted) > 0.5)
        #expect(try ImageInfo.read(Corpus.shared.source(big)).profile != nil)
    }

    @Test func `a broken profile is ignored`() throws {
        for name in ["gen__jpg_icc_garbage", "gen__jpg_icc_255_parts_missing"] {
            let path = "hostile/\(name).jpg"
            let kept = try decode(path, keeping: true)
            let converted = try decode(path, keeping: false)
            #expect(kept.meanDifference(from: converted) == 0)
        }
    }

    @Test func `a thumbnail has the colours of the whole image`() throws {
        let source = try Corpus.shared.source("jpeg/Pillow__icc_profile_big.jpg")
        let whole = try ImageDecoder().decode(source).resized(to: .fit(60, 60))
        #expect(try ImageDecoder().decode(source, to: .fit(60, 60)).meanDifference(from: whole) < 2)
    }
}
