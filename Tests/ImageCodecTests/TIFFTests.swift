import TestSupport
import Testing

@testable import ImageCodec

/// TIFF, which this process decodes for the tests only.
@Suite struct TIFFTests {
    init() { ImageCodecLibraries.allowWorkerFormats() }

    static let files = RasterFile.list(
        "tiff", ".tif",
        [
            (
                "color", 0,
                """
                rgb rgb_big_endian rgb_bigtiff rgb_bigtiff_big_endian rgb_tiles rgb_planes rgb_planes_tiles \
                rgb_deflate rgb16 rgb16_big_endian rgb16_planes rgb_extra rgb_profile rgb_lzw rgb_lzw_predictor \
                rgb_packbits rgb_deflate_tiles orientation2 orientation3 orientation4 orientation5 orientation6 \
                orientation7 orientation8 first_rgb first_rgb_lzw first_rgb_packbits first_rgb_planes_tiles
                """
            ),
            ("color", 4, "ycbcr"), ("smooth", 14, "ycbcr_jpeg rgb_jpeg_tiles first_ycbcr_jpeg"),
            ("alpha", 0, "rgba rgba_planes rgba_planes_tiles rgba16_tiles rgb_extra_alpha first_rgba_planes"),
            ("alpha", 2, "rgba_associated"), ("gray_alpha", 0, "gray_alpha"),
            ("gray", 0, "gray gray_white_is_zero gray2 gray4 gray4_tiles gray16"),
            (
                "bilevel", 0,
                "bilevel bilevel_white_is_zero bilevel_fax3 bilevel_fax4 bilevel_packbits first_bilevel_fax4"
            ),
            ("palette", 0, "palette8 palette4 palette_of_8_bits"), ("palette4", 0, "palette2"),
            ("cmyk", 1, "cmyk cmyk_tiles_planes first_cmyk_tiles_planes"),
        ])

    @Test(arguments: files) func `every pixel of a TIFF is that of its reference, upright`(_ file: RasterFile) throws {
        try file.checkPixels()
    }

    @Test(arguments: files) func `a TIFF that is cut is truncated, or has all pixels`(_ file: RasterFile) throws {
        try file.checkCuts()
    }

    @Test func `mutants of a TIFF give an image or an error`() throws {
        var generator = SeededGenerator(for: "TIFF")
        try RasterFile.checkMutants(of: Self.files, count: 4_000, using: &generator)
    }

    @Test func `each limit refuses a TIFF that exceeds it`() throws {
        try RasterFile.checkLimits("tiff/gen__rgb.tif", memory: 1_000_000)
    }

    private func info(_ name: String) throws -> ImageInfo {
        try ImageInfo.read(Corpus.shared.source("tiff/gen__\(name).tif"))
    }

    @Test func `the header of a TIFF describes the stored image`() throws {
        let color = try info("rgb")
        #expect((color.width, color.height) == (23, 17) && color.format == .tiff && color.orientation == .up)
        #expect(color.bitDepth == 8 && color.components == 3 && !color.hasAlpha && color.frames == 1)
        let turned = try info("orientation6")
        #expect((turned.width, turned.height) == (17, 23) && turned.orientation == .right)
        let deep = try info("rgba16_tiles")
        #expect(deep.bitDepth == 16 && deep.components == 4 && deep.hasAlpha)
        #expect(try info("bilevel").bitDepth == 1)
        #expect(try info("palette4").components == 1)
        for name in ["cmyk_tiles_planes", "rgb_extra"] { #expect(try !info(name).hasAlpha, "\(name)") }
    }

    @Test func `the profile of a TIFF is taken within its limit`() throws {
        var decoder = ImageDecoder()
        decoder.color = .keepProfile
        let source = try Corpus.shared.source("tiff/gen__rgb_profile.tif")
        #expect(try decoder.decode(source).profile?.isEmpty == false)
        #expect(try ImageDecoder().decode(source).profile == nil)
        decoder.limits.ancillary = 10
        #expect(try decoder.decode(source).profile == nil)
    }

    @Test func `a TIFF is resized while it is read`() throws {
        for name in ["rgb", "rgb_planes", "rgb_tiles", "cmyk"] {
            let source = try Corpus.shared.source("tiff/gen__\(name).tif")
            let small = try ImageDecoder().decode(source, to: .fit(10, 10))
            #expect((small.width, small.height) == (10, 7))
            #expect(try small.meanDifference(from: ImageDecoder().decode(source).resized(to: .fit(10, 10))) < 1)
        }
    }

    // MARK: Directories

    private typealias Entry = (tag: Int, type: Int, count: Int, value: Int)

    /// A TIFF whose directory has these entries, and whose pixels are any of its bytes.
    private func directory(_ first: [Entry], _ more: Entry..., padding: Int = 200) -> [UInt8] {
        let entries = first + more
        func bytes(_ number: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
        var file: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0]
        file += bytes(entries.count, 2)
        for entry in entries {
            file += bytes(entry.tag, 2) + bytes(entry.type, 2) + bytes(entry.count, 4) + bytes(entry.value, 4)
        }
        return file + [UInt8](repeating: 0, count: padding)
    }

    private func code(_ bytes: [UInt8]) -> ImageCodecError.Code? {
        do throws(ImageCodecError) {
            _ = try ImageDecoder().decode(ImageSource(bytes), to: .fit(4, 4))
            return nil
        } catch {
            return error.code
        }
    }

    private let gray: [Entry] = [
        (256, 3, 1, 16), (257, 3, 1, 1), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8), (277, 3, 1, 1),
        (278, 3, 1, 1), (279, 4, 1, 16),
    ]

    private func changed(_ tag: Int, to value: Int) -> [UInt8] {
        directory(gray.map { $0.tag == tag ? (tag: tag, type: 4, count: 1, value: value) : $0 })
    }

    /// Entries that libtiff does not know.
    private func unknown(_ number: Int, type: Int, count: Int) -> [Entry] {
        (0..<number).map { (tag: 40_000 + $0, type: type, count: count, value: 8) }
    }

    @Test func `a directory is counted and checked before libtiff reads its values`() {
        #expect(code(directory(gray)) == nil)
        #expect(code(directory(unknown(1_025, type: 3, count: 1))) == .limitExceeded)
        let large = unknown(1_000, type: 1, count: 70_000)
        #expect(code(directory(gray + large, padding: 70_000)) == .limitExceeded)
        #expect(code(directory(gray, (320, 3, 768, 4_000_000))) == .truncated)
        #expect(code(directory(gray, (34_675, 7, 1 << 30, 8))) == .truncated)
        // libtiff does without a program's own values.
        #expect(code(directory(gray, (40_000, 7, 1 << 30, 8))) == nil)
        #expect(code(directory(Array(gray.dropFirst()))) == .corrupt)
        #expect(code(Array(directory(gray)[..<40])) == .truncated)
    }

    @Test func `sizes, previews and unknown kinds are refused by the header`() {
        #expect(code(changed(256, to: 1 << 30)) == .limitExceeded)
        #expect(code(changed(257, to: 1 << 30)) == .limitExceeded)
        #expect(code(changed(256, to: 0)) == .corrupt)
        #expect(code(changed(259, to: 6)) == .unsupportedFormat)
        #expect(code(changed(259, to: 50_001)) == .unsupportedFormat)
        #expect(code(changed(262, to: 32_803)) == .unsupportedFormat)
        #expect(code(changed(258, to: 32)) == .unsupportedFormat)
        #expect(code(directory(gray, (254, 4, 1, 1))) == .unsupportedFormat)
        #expect(code(changed(273, to: 60_000)) == .truncated)
    }

    @Test func `the old kind of JPEG is refused before libtiff opens the file`() {
        // One for each sample is allowed, too.
        var several = directory(gray.map { $0.tag == 259 ? (tag: 259, type: 3, count: 3, value: 130) : $0 })
        for place in [130, 132, 134] { several[place] = 6 }
        for file in [changed(259, to: 6), several] {
            let error = #expect(throws: ImageCodecError.self) { try ImageDecoder().decode(ImageSource(file)) }
            #expect(error?.code == .unsupportedFormat && error?.reason == "a TIFF with the old kind of JPEG")
        }
    }

    @Test(arguments: [(60_000, 60_000), (1 << 20, 1 << 21), ((1 << 32) - 2, 1 << 31)] as [(Int, Int)])
    func `tiles that take more memory than allowed are refused before they are read`(width: Int, height: Int) throws {
        let file = HostileImages.tiff(tile: (width, height))
        #expect(code(file) == .limitExceeded)
        // A worker may send such a header.
        let header = try ImageDecoder().header(of: ImageSource(file))
        #expect(header.isPossible(within: DecodingLimits()))
    }
}
