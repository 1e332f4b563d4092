import TestSupport
import Testing

@testable import ImageCodec

@Suite struct BMPTests {
    static let files = RasterFile.list(
        "bmp", ".bmp",
        [
            ("bilevel", 0, "bits1"), ("palette4", 0, "bits2"),
            (
                "palette", 0,
                "bits4 bits8 bits8_few_colors bits8_top_down bits8_short_space bits8_core bits4_os2 rle8 rle4"
            ),
            ("color555", 0, "bits16"), ("color565", 0, "bits16_565"),
            (
                "color", 0,
                "bits24 bits24_top_down bits24_gap bits24_core bits32 bits32_masks bits32_10 bits32_no_alpha"
            ),
            ("alpha", 0, "bits32_alpha_v3 bits32_alpha_v4 bits32_alpha_v5 bits32_alphabitfields"),
            ("skipped", 0, "rle8_skips"),
        ])

    @Test(arguments: files) func `every pixel of a BMP is that of its reference`(_ file: RasterFile) throws {
        try file.checkPixels()
    }

    @Test(arguments: files) func `a BMP that is cut is truncated, or has all pixels`(_ file: RasterFile) throws {
        try file.checkCuts()
    }

    @Test func `mutants of a BMP give an image or an error`() throws {
        var generator = SeededGenerator(for: "BMP")
        try RasterFile.checkMutants(of: Self.files, count: 4_000, using: &generator)
    }

    @Test func `each limit refuses a BMP that exceeds it`() throws {
        try RasterFile.checkLimits("bmp/gen__bits24.bmp", memory: 100_000)
    }

    @Test func `the header of a BMP describes the image`() throws {
        let color = try ImageInfo.read(Corpus.shared.source("bmp/gen__bits24_top_down.bmp"))
        #expect((color.width, color.height) == (23, 17) && color.format == .bmp && color.orientation == .up)
        #expect(color.bitDepth == 8 && color.components == 3 && !color.hasAlpha && color.frames == 1)
        #expect(try ImageInfo.read(Corpus.shared.source("bmp/gen__bits32_alpha_v5.bmp")).hasAlpha)
        let palette = try ImageInfo.read(Corpus.shared.source("bmp/gen__bits4.bmp"))
        #expect(palette.bitDepth == 4 && palette.components == 1)
    }

    /// The code for a file with a changed number of four bytes.
    private func code(_ name: String, _ place: Int, _ value: UInt32) throws -> ImageCodecError.Code? {
        var bytes = try Corpus.shared.bytes("bmp/gen__\(name).bmp")
        for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: value >> (index * 8)) }
        do throws(ImageCodecError) {
            _ = try ImageDecoder().decode(ImageSource(bytes))
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `sizes, compressions and masks that are not read are errors of their own`() throws {
        #expect(try code("bits24", 18, 0x8000_0000) == .corrupt)
        #expect(try code("bits24", 18, 0x7FFF_FFFF) == .limitExceeded)
        #expect(try code("bits24", 22, 0x8000_0000) == .limitExceeded)
        #expect(try code("bits24", 22, 0) == .corrupt)
        #expect(try code("bits24", 22, 18) == .truncated)
        // An embedded JPEG, an embedded PNG, runs of another depth, and masks for 24 bits.
        for compression in [4, 5, 1, 2, 3] as [UInt32] {
            #expect(try code("bits24", 30, compression) == .unsupportedFormat)
        }
        #expect(try code("bits16_565", 54, 0xF0F0) == .corrupt)
        #expect(try code("bits24", 10, 0xFFFF_FFF0) == .truncated)
        #expect(try code("rle8", 10, 0xFFFF_FFF0) == .truncated)
    }

    @Test(arguments: [
        "BM", "BMW is a maker of cars, and this is a text of more than fifty bytes about it.",
        "BM" + String(repeating: "\0", count: 60),
        "BM\u{28}\0\0\0\0\0\0\0\u{36}\0\0\0\u{29}\0\0\0\u{1}\0\0\0\u{1}\0\0\0\u{1}\0\u{18}\0\0\0\0\0",
        "BM\u{28}\0\0\0\0\0\0\0\u{20}\0\0\0\u{28}\0\0\0\u{1}\0\0\0\u{1}\0\0\0\u{1}\0\u{18}\0\0\0\0\0",
        "BM\u{28}\0\0\0\0\0\0\0\u{36}\0\0\0\u{28}\0\0\0\u{1}\0\0\0\u{1}\0\0\0\u{2}\0\u{18}\0\0\0\0\0",
        "BM\u{28}\0\0\0\0\0\0\0\u{36}\0\0\0\u{28}\0\0\0\u{1}\0\0\0\u{1}\0\0\0\u{1}\0\u{17}\0\0\0\0\0",
    ])
    func `bytes that begin with BM are a BMP only with the numbers of one`(_ start: String) {
        #expect(ImageFormat.detect(Array(start.utf8)) == nil)
    }

    @Test func `the shortest headers of a BMP are detected`() {
        let start = "BM\u{28}\0\0\0\0\0\0\0\u{36}\0\0\0\u{28}\0\0\0\u{1}\0\0\0\u{1}\0\0\0\u{1}\0\u{18}\0\0\0\0\0"
        #expect(ImageFormat.detect(Array(start.utf8)) == .bmp)
    }
}
