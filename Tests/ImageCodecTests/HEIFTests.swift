import CImageCodec
import Testing

@testable import ImageCodec

/// HEIF, which this process decodes for the tests only. References are heif-convert's pixels, or the encoder's input (TestAssets/heif).
@Suite struct HEIFTests {
    init() { ImageCodecLibraries.allowWorkerFormats() }

    private static func path(_ name: String) -> String {
        "heif/" + (name.hasPrefix("gen__") ? name : "pillow-heif__" + name)
    }

    private func source(_ name: String) throws -> ImageSource { try Corpus.shared.source(Self.path(name)) }

    private func bytes(_ name: String) throws -> [UInt8] { try Corpus.shared.bytes(Self.path(name)) }

    private func reference(_ name: String) throws -> DecodedImage { try ImageDecoder().decode(source("\(name).png")) }

    @Test func `the header of a HEIF file reports the upright size, depth and alpha`() throws {
        let photo = try ImageInfo.read(source("arrow.heic"))
        #expect((photo.width, photo.height) == (3024, 4032))
        #expect(photo.format == .heif && photo.orientation == .up && photo.bitDepth == 8 && photo.frames == 1)
        #expect(photo.components == 3 && !photo.hasAlpha)
        #expect(try ImageInfo.read(source("RGB_10.heif")).bitDepth == 10)
        #expect(try ImageInfo.read(source("RGBA_8.heif")).hasAlpha)
    }

    @Test(arguments: [
        "RGB_8_chroma444.heif", "RGBA_8.heif", "L_8.heif", "L_xmp.heif", "RGB_10.heif", "three.heic",
        "broken_thumbnail.heic", "gen__turned_422.heic",
    ])
    func `the primary image matches the reference, except for rounding and chroma interpolation`(_ name: String) throws
    {
        var decoder = ImageDecoder()
        decoder.color = .keepProfile
        let (image, expected) = (try decoder.decode(source(name)), try reference(name))
        #expect((image.width, image.height) == (expected.width, expected.height))
        let difference = image.meanDifference(from: expected)
        // With a colour for each pixel, or without colours, only rounding remains.
        #expect(difference < (name.contains("444") || name.hasPrefix("L") ? 0.5 : 3), "\(difference)")
    }

    @Test func `a phone's photo of many tiles is upright, with its profile or in sRGB, and keeps Exif`() throws {
        var decoder = ImageDecoder()
        decoder.color = .keepProfile
        decoder.keepsMetadata = true
        let own = try decoder.decode(source("arrow.heic"), to: .fit(189, 252))
        #expect(own.meanDifference(from: try reference("arrow.heic")) < 2)
        #expect(own.profile != nil && own.exif != nil)
        let shown = try ImageDecoder().decode(source("arrow.heic"), to: .fit(189, 252))
        #expect(shown.profile == nil && shown.exif == nil && shown.meanDifference(from: own) > 0)
    }

    @Test func `a rotation that the container lists before the size also turns the size`() throws {
        var file = try bytes("arrow.heic")
        let (usual, other): ([UInt8], [UInt8]) = ([0, 49, 3, 4, 0x85, 6], [0, 49, 3, 0x85, 4, 6])
        let place = try #require((0..<20_000).first { file[$0..<$0 + 6].elementsEqual(usual) })
        file.replaceSubrange(place..<place + 6, with: other)
        let info = try ImageInfo.read(ImageSource(file))
        #expect((info.width, info.height) == (3024, 4032))
        let image = try ImageDecoder().decode(ImageSource(file), to: .fit(189, 252))
        #expect(image.meanDifference(from: try ImageDecoder().decode(source("arrow.heic"), to: .fit(189, 252))) == 0)
    }

    @Test func `a HEIF file that is cut or has one wrong byte gives an image or an error`() throws {
        for name in ["RGBA_8.heif", "three.heic"] {
            let whole = try bytes(name)
            for cut in stride(from: 0, to: whole.count, by: whole.count / 40) {
                check(Array(whole[..<cut]))
            }
            for place in stride(from: 0, to: whole.count, by: whole.count / 150) {
                var wrong = whole
                wrong[place] ^= 0x55
                check(wrong)
            }
        }
    }

    private func check(_ bytes: [UInt8]) {
        do throws(ImageCodecError) {
            let image = try ImageDecoder().decode(ImageSource(bytes))
            #expect(image.width > 0 && image.height > 0)
        } catch {
            #expect(!error.reason.isEmpty && error.code != .failed, "\(error)")
        }
    }

    /// The places of a box's content, behind its name.
    private func contents(of name: String, in file: [UInt8]) -> [Int] {
        (0..<file.count - 24).filter { file[$0..<$0 + 4].elementsEqual(name.utf8) }.map { $0 + 4 }
    }

    @Test func `a picture of more pixels than its container says is refused`() throws {
        var file = try bytes("arrow.heic")
        // The tiles have 512 x 512 pixels.
        for place in contents(of: "ispe", in: file) {
            file.replaceSubrange(place + 4..<place + 12, with: [0, 0, 0, 64, 0, 0, 0, 64])
        }
        let error = #expect(throws: ImageCodecError.self) { try ImageDecoder().decode(ImageSource(file)) }
        #expect(error?.format == .heif && error?.code == .limitExceeded)
    }

    @Test func `a picture with more colours than its container declares is refused before memory is allocated`() throws
    {
        var file = try bytes("RGB_8_chroma444.heif")
        let configurations = contents(of: "hvcC", in: file)
        #expect(!configurations.isEmpty)
        for place in configurations { file[place + 16] = 0xFD }
        let error = #expect(throws: ImageCodecError.self) { try ImageDecoder().decode(ImageSource(file)) }
        #expect(error?.code == .corrupt && error?.reason == "a picture is larger than the container says")
    }

    @Test func `the size of a sequence is read across emulation prevention bytes`() throws {
        // Of the primary image of three.heic, found by the header of its unit: type 33, layer 0.
        let file = try bytes("three.heic")
        let start = try #require(
            (0..<file.count - 2).first { (index: Int) -> Bool in
                guard file[index] == 0x42, file[index + 1] == 1 else { return false }
                return file[index + 2] & 0xF0 == 0
            })
        var (pixels, chroma): (UInt64, UInt32) = (0, 0)
        let unit = Array(file[start..<min(start + 60, file.count)])
        #expect(icodec_hevc_size(unit, unit.count, &pixels, &chroma))
        #expect(pixels == 64 * 64 && chroma == 1)
        for count in 0..<16 { #expect(!icodec_hevc_size(unit, count, &pixels, &chroma)) }
    }

    @Test func `HEIF decoding ends at its time limit, between two tiles`() throws {
        var decoder = ImageDecoder()
        decoder.limits.seconds = 0.05
        let error = #expect(throws: ImageCodecError.self) { try decoder.decode(source("arrow.heic")) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `a HEIF file with more pixels than allowed is refused by its header`() throws {
        var decoder = ImageDecoder()
        decoder.limits.pixels = 1_000_000
        let error = #expect(throws: ImageCodecError.self) { try decoder.decode(source("arrow.heic")) }
        #expect(error?.code == .limitExceeded)
    }
}
