import CImageCodec
import Testing

@testable import ImageCodec

@Suite struct FormatTests {
    @Test(arguments: Corpus.shared.files("good", []))
    func `the format comes from the bytes`(_ file: Corpus.File) throws {
        guard let named = file.format else { return }
        let format = try #require(ImageFormat.detect(Corpus.shared.bytes(file.path)))
        let expected: ImageFormat =
            switch named {
            case "jpeg": .jpeg
            case "png": .png
            case "webp": .webp
            case "gif": .gif
            case "avif": .avif
            case "svg": .svg
            case "jxl": .jpegXL
            case "tiff": .tiff
            case "bmp": .bmp
            case "ico": .ico
            default: .heif
            }
        #expect(format == expected)
        guard !format.isSupported else { return }
        let error = #expect(throws: ImageCodecError.self) {
            try ImageDecoder().decode(Corpus.shared.source(file.path))
        }
        #expect(error?.code == .unsupportedFormat && error?.format == format)
        #expect(error?.description == "unsupported format: \(format)")
    }

    @Test func `formats are recognised by their signatures`() {
        #expect(ImageFormat.detect([0x49, 0x49, 0x2A, 0, 8, 0, 0, 0]) == .tiff)
        #expect(ImageFormat.detect([0x4D, 0x4D, 0, 0x2A]) == .tiff)
        #expect(ImageFormat.detect(Array("<?xml version=\"1.0\"?>\n<!-- a -->\n<svg xmlns='…'>".utf8)) == .svg)
        #expect(ImageFormat.detect(Array("<html><body><svg>".utf8)) == nil)
        #expect(ImageFormat.detect([]) == nil)
        #expect(ImageFormat.detect([0xFF, 0xD8]) == .jpeg)
        #expect(ImageFormat.detect([0xFF, 0x0A]) == .jpegXL)
        #expect(ImageFormat.detect([0, 0, 0, 12] + Array("JXL \r\n".utf8) + [0x87, 10]) == .jpegXL)
        #expect(ImageFormat.detect([0, 0, 0, 20] + Array("ftypmif1\0\0\0\0avif".utf8)) == .avif)
        #expect(ImageFormat.detect([0, 0, 0, 4] + Array("ftyp".utf8)) == nil)
    }

    @Test(arguments: [
        "<svg/>", "<svg>", "  \n<svg xmlns='http://www.w3.org/2000/svg'>", "\u{FEFF}<svg >", "<svg:svg xmlns:svg='a'>",
        "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n<!-- <html> --><!-- -- ->--><?style a='?'?>\n<svg\n>",
        "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"svg11.dtd\" [ <!ENTITY a \"b\">",
        "<?xml version='1.0'?><!--" + String(repeating: "licence ", count: 200) + "--><svg ",
    ])
    func `an SVG is recognised behind everything that XML allows before it`(_ start: String) {
        #expect(ImageFormat.detect(Array(start.utf8)) == .svg)
    }

    @Test(arguments: [
        "", "<", "<svg", "<svgs>", "<svg:a>", "<a:svgs >", "<!-- <svg> --><html>", "<!-- <svg>", "<?xml <svg>",
        "<!DOCTYPE html><svg>", "<!DOCTYPEsvg >", "<!DOCTYPE svg", "<html><svg>", "text <svg>", "< svg>", "&<svg>",
        "\u{1F}\u{8B}<svg>", "<p>" + String(repeating: " ", count: 3000) + "<svg>",
        "<!--" + String(repeating: "-", count: 3000) + "--><svg>",
    ])
    func `text that is not an SVG is not detected as one`(_ start: String) {
        #expect(ImageFormat.detect(Array(start.utf8)) == nil)
    }

    @Test func `an SVG in UTF-16, or compressed, is not taken for one`() {
        #expect(ImageFormat.detect([0xFF, 0xFE] + "<svg>".utf16.flatMap { [UInt8($0), 0] }) == nil)
        #expect(ImageFormat.detect([0x1F, 0x8B, 8, 0] + Array("<svg>".utf8)) == nil)
    }

    @Test(arguments: ImageFormat.allCases.filter(\.isSupported))
    func `each format that is read has files in TestAssets`(format: ImageFormat) {
        let folder = format == .ico ? "ico" : format.mediaType.split(separator: "/").last.map(String.init) ?? ""
        #expect(!Corpus.shared.files("good", [folder]).isEmpty, "TestAssets/\(folder) has no good files")
    }

    @Test(arguments: ImageFormat.allCases.filter(\.isWritten))
    func `each format that is written has an encoder of the package`(format: ImageFormat) {
        #expect([ImageEncoder.jpeg(), .png(), .webp(), .avif(), .gif()].contains { $0.format == format })
        #expect(format.isSupported)
    }

    @Test func `a format is known by its media type, and by others that servers send`() {
        for format in ImageFormat.allCases { #expect(ImageFormat(mediaType: format.mediaType) == format) }
        let others: [(String, ImageFormat?)] = [
            ("image/jpg", .jpeg), ("image/heic", .heif), ("image/x-ms-bmp", .bmp), ("image/x-icon", .ico),
            ("image/x", nil), ("", nil),
        ]
        for (type, format) in others { #expect(ImageFormat(mediaType: type) == format, "\(type)") }
    }

    @Test(arguments: [(Int(ICODEC_UNSUPPORTED), false), (Int(ICODEC_UNAVAILABLE), true)])
    func `an unsupported file differs from a process that does not read its format`(number: Int, isOfProcess: Bool) {
        var failure = icodec_error()
        failure.code = Int32(number)
        let error = ImageCodecError(failure, format: .tiff)
        #expect(error.code == .unsupportedFormat && error.isOfProcess == isOfProcess)
    }

    @Test func `the header describes an image`() throws {
        let photo = try ImageInfo.read(Corpus.shared.source("jpeg/exif-orientation-examples__Landscape_6.jpg"))
        #expect(photo.format == .jpeg && photo.width == 1200 && photo.height == 1800 && photo.orientation == .right)
        #expect(photo.bitDepth == 8 && photo.components == 3 && !photo.hasAlpha && photo.frames == 1)
        let deep = try ImageInfo.read(Corpus.shared.source("png/PngSuite__basi6a16.png"))
        #expect(deep.bitDepth == 16 && deep.components == 4 && deep.hasAlpha && deep.isProgressive)
        let frames = try ImageInfo.read(Corpus.shared.source("hostile/gen__apng_5000_frames.png"))
        #expect(frames.frames == 5000)
    }

    @Test func `a directory, a missing file and an empty file are typed errors`() throws {
        for path in [Corpus.shared.place("jpeg"), Corpus.shared.place("none")] {
            let error = #expect(throws: ImageCodecError.self) { try ImageSource(path: path) }
            #expect(error?.code == .unreadable)
        }
        let empty = #expect(throws: ImageCodecError.self) { try ImageDecoder().decode(ImageSource([])) }
        #expect(empty?.code == .truncated)
    }

    @Test(arguments: ["jpeg", "png", "webp", "gif", "avif", "bmp", "ico"])
    func `a file is read the same from memory and from disk`(_ folder: String) throws {
        let file = try #require(
            Corpus.shared.files("good", [folder]).first {
                (try? ImageDecoder().decode(Corpus.shared.source($0.path))) != nil
            })
        let disk = try ImageDecoder().decode(Corpus.shared.source(file.path))
        let memory = try ImageDecoder().decode(ImageSource(Corpus.shared.bytes(file.path)))
        #expect(disk.meanDifference(from: memory) == 0)
    }
}
