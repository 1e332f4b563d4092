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

    private static func number(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// A profile of gray or of sRGB's primaries in which a value of 128 is half of the light, or an empty one of CMYK.
    private static func profile(_ space: String) -> [UInt8] {
        let curve = Array("curv".utf8) + number(0) + number(1) + [1, 0, 0, 0]
        func color(_ parts: [Double]) -> [UInt8] {
            Array("XYZ ".utf8) + number(0) + parts.flatMap { number(Int(($0 * 65_536).rounded())) }
        }
        let tags: [(name: String, content: [UInt8])] =
            switch space {
            case "GRAY": [("kTRC", curve)]
            case "RGB ":
                [
                    ("rXYZ", color([0.43607, 0.22249, 0.01392])), ("gXYZ", color([0.38515, 0.71687, 0.09708])),
                    ("bXYZ", color([0.14307, 0.06061, 0.71410])), ("rTRC", curve), ("gTRC", curve), ("bTRC", curve),
                ]
            default: []
            }
        var (table, contents) = (number(tags.count), [UInt8]())
        for tag in tags {
            let start = 132 + tags.count * 12 + contents.count
            table += Array(tag.name.utf8) + number(start) + number(tag.content.count)
            contents += tag.content
        }
        let size = 128 + table.count + contents.count
        var head = number(size) + Array("lcms".utf8) + [2, 0x10, 0, 0] + Array("mntr\(space)XYZ ".utf8)
        head += [UInt8](repeating: 0, count: 12) + Array("acsp".utf8) + [UInt8](repeating: 0, count: 28)
        head += number(0xF6D6) + number(0x10000) + number(0xD32D)
        return head + [UInt8](repeating: 0, count: 128 - head.count) + table + contents
    }

    /// A JPEG with a profile, which may be one of other colours.
    private static func jpeg(_ file: [UInt8], with profile: [UInt8]) -> ImageSource {
        let content = Array("ICC_PROFILE\0".utf8) + [1, 1] + profile
        let length = number(content.count + 2).suffix(2)
        return ImageSource(Array(file.prefix(2)) + [0xFF, 0xE2] + length + content + Array(file.dropFirst(2)))
    }

    /// A BMP of version 5 whose header names a profile behind the pixels.
    private static func bmp(
        with profile: [UInt8], kind: Int = 0x4D42_4544, missing: Int = 0
    ) throws -> ImageSource {
        var file = try Corpus.shared.bytes("bmp/gen__bits32_alpha_v5.bmp")
        for (place, value) in [(56, kind), (112, file.count - 14), (116, profile.count)] {
            file.replaceSubrange(14 + place..<18 + place, with: number(value).reversed())
        }
        return ImageSource(file + profile.dropLast(missing))
    }

    @Test func `an embedded profile of a BMP is converted or kept, within the file and the limit`() throws {
        let profile = Self.profile("RGB ")
        let stored = try decode("bmp/gen__bits32_alpha_v5.bmp", keeping: false)
        var keeping = ImageDecoder()
        keeping.color = .keepProfile
        let kept = try keeping.decode(Self.bmp(with: profile))
        #expect(kept.profile == profile && kept.meanDifference(from: stored) == 0)
        let converted = try ImageDecoder().decode(Self.bmp(with: profile))
        #expect(converted.profile == nil && converted.meanDifference(from: stored) > 1)
        // A linked profile is the name of a file.
        for source in [
            try Self.bmp(with: profile, missing: 1), try Self.bmp(with: profile, kind: 0x4C49_4E4B),
            try Self.bmp(with: []),
        ] {
            #expect(try keeping.decode(source).profile == nil)
            #expect(try ImageDecoder().decode(source).meanDifference(from: stored) == 0)
        }
        keeping.limits.ancillary = profile.count - 1
        #expect(try keeping.decode(Self.bmp(with: profile)).profile == nil)
    }

    @Test(arguments: ["GRAY", "RGB ", "CMYK"], [false, true])
    func `a profile of RGB is kept with the stored pixels, and one of gray is converted`(
        space: String, isGray: Bool
    ) throws {
        let picture = try DecodedImage(width: 64, height: 64) { memory in
            for index in 0..<64 * 64 {
                let (across, down) = (UInt8(40 + index % 64 * 2), UInt8(40 + index / 64 * 2))
                memory[index * 4] = across
                memory[index * 4 + 1] = isGray ? across : down
                memory[index * 4 + 2] = isGray ? across : 90
                memory[index * 4 + 3] = 255
            }
        }
        let file = try ImageEncoder.jpeg(quality: 95).encode(picture)
        let profile = Self.profile(space)
        let source = Self.jpeg(file, with: profile)
        let stored = try ImageDecoder().decode(ImageSource(file))
        let converted = try ImageDecoder().decode(source)
        let fits = space == "RGB " || space == "GRAY" && isGray
        #expect(converted.profile == nil)
        #expect((converted.meanDifference(from: stored) > 10) == fits)

        var keeping = ImageDecoder()
        keeping.color = .keepProfile
        let kept = try keeping.decode(source)
        #expect(kept.profile == (space == "RGB " ? profile : nil))
        #expect(kept.meanDifference(from: space == "RGB " ? stored : converted) == 0)
        for encoder in [ImageEncoder.jpeg(quality: 95), .png(), .webp(), .webp(isLossless: true)] {
            let written = ImageSource(try encoder.encode(kept))
            let again = try keeping.decode(written)
            #expect(again.profile == kept.profile, "\(encoder.format)")
            #expect(again.meanDifference(from: kept) < 4, "\(encoder.format)")
            let shown = try ImageDecoder().decode(written)
            #expect(shown.meanDifference(from: converted) < 6, "\(encoder.format)")
        }
    }

    @Test(arguments: ["GRAY", "RGB ", "CMYK"])
    func `no profile is kept with the pixels of a CMYK file`(space: String) throws {
        let file = try Corpus.shared.bytes("jpeg/jpeg-decoder__jpg-cmyk-1.jpg")
        var keeping = ImageDecoder()
        keeping.color = .keepProfile
        let kept = try keeping.decode(Self.jpeg(file, with: Self.profile(space)))
        #expect(kept.profile == nil)
        #expect(kept.meanDifference(from: try keeping.decode(ImageSource(file))) == 0)
    }

    @Test func `a thumbnail has the colours of the whole image`() throws {
        let source = try Corpus.shared.source("jpeg/Pillow__icc_profile_big.jpg")
        let whole = try ImageDecoder().decode(source).resized(to: .fit(60, 60))
        #expect(try ImageDecoder().decode(source, to: .fit(60, 60)).meanDifference(from: whole) < 2)
    }
}
