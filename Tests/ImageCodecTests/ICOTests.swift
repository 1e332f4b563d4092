import TestSupport
import Testing

@testable import ImageCodec

@Suite struct ICOTests {
    static let files =
        RasterFile.list(
            "ico", ".ico",
            [
                ("masked_bilevel", 0, "bits1"), ("masked_palette", 0, "bits4 bits8"),
                ("masked_color", 0, "bits24 bits32_no_alpha wrong_list"),
                ("alpha", 0, "bits32 bits32_no_mask png several"),
            ]) + RasterFile.list("ico", ".cur", [("alpha", 0, "cursor")])

    @Test(arguments: files) func `every pixel of the best picture of an icon is that of its reference`(
        _ file: RasterFile
    ) throws {
        try file.checkPixels()
    }

    @Test(arguments: files) func `an icon that is cut is truncated, or has all pixels`(_ file: RasterFile) throws {
        try file.checkCuts()
    }

    @Test func `mutants of an icon give an image or an error`() throws {
        var generator = SeededGenerator(for: "ICO")
        try RasterFile.checkMutants(of: Self.files, count: 4_000, using: &generator)
    }

    @Test func `each limit refuses an icon that exceeds it`() throws {
        for name in ["bits32", "png"] { try RasterFile.checkLimits("ico/gen__\(name).ico", memory: 100_000) }
    }

    @Test func `the header of an icon describes its best picture`() throws {
        let info = try ImageInfo.read(Corpus.shared.source("ico/gen__several.ico"))
        #expect((info.width, info.height) == (23, 17) && info.format == .ico && info.hasAlpha && info.frames == 1)
        #expect(info.bitDepth == 8 && info.components == 4)
    }

    /// An icon with one picture.
    private func icon(_ picture: [UInt8]) -> [UInt8] {
        [0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 32, 0, 1, 0, 0, 0, 22, 0, 0, 0] + picture
    }

    @Test(arguments: ["basi6a08", "basi3p04", "basn2c16"])
    func `a picture that is a PNG has the PNG's pixels, also of an interlaced one`(_ name: String) throws {
        let png = try Corpus.shared.bytes("png/PngSuite__\(name).png")
        var decoder = ImageDecoder()
        decoder.color = .keepProfile
        let image = try decoder.decode(ImageSource(icon(png)))
        #expect(try image.hash == decoder.decode(ImageSource(png)).hash)
        let cut = Array(icon(png).dropLast(png.count / 2))
        let error = #expect(throws: ImageCodecError.self) { try decoder.decode(ImageSource(cut)) }
        #expect(error?.code == .truncated && error?.format == .ico)
    }

    @Test func `a picture with runs, or behind the end of the file, is an error`() throws {
        var bytes = try Corpus.shared.bytes("ico/gen__bits8.ico")
        bytes[22 + 16] = 1
        let runs = #expect(throws: ImageCodecError.self) { try ImageDecoder().decode(ImageSource(bytes)) }
        #expect(runs?.code == .corrupt)
        bytes[22 + 16] = 0
        bytes[20] = 0x7F
        let behind = #expect(throws: ImageCodecError.self) { try ImageDecoder().decode(ImageSource(bytes)) }
        #expect(behind?.code == .truncated)
    }

    @Test func `bytes are an icon only with a list that one can have`() {
        let list: [UInt8] = [0, 0, 1, 0, 1, 0, 16, 16, 0, 0, 1, 0, 32, 0, 1, 0, 0, 0, 22, 0, 0, 0]
        #expect(ImageFormat.detect(list) == .ico)
        // A cursor has its place where an icon has planes and bits.
        var cursor = list
        (cursor[2], cursor[10], cursor[12]) = (2, 9, 7)
        #expect(ImageFormat.detect(cursor) == .ico)
        var reserved = list
        reserved[9] = 255
        #expect(ImageFormat.detect(reserved) == .ico)
        let values: [(Int, UInt8)] = [
            (2, 3), (4, 0), (4, 2), (9, 1), (9, 254), (10, 2), (12, 7), (14, 0), (18, 6),
        ]
        for (place, value) in values {
            var wrong = list
            wrong[place] = value
            #expect(ImageFormat.detect(wrong) == nil, "\(value) at \(place)")
        }
        #expect(ImageFormat.detect(list.dropLast()) == nil)
        #expect(ImageFormat.detect([0, 0, 1, 0] + [UInt8](repeating: 0, count: 100)) == nil)
    }
}
