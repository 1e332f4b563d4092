import Testing

@testable import ImageCodec

@Suite struct EncodingTests {
    /// Few colours (a palette), or many; opaque or not.
    private func picture(colors: Int, opaque: Bool) throws -> DecodedImage {
        try DecodedImage(width: 70, height: 30) { pixels in
            for index in 0..<(70 * 30) {
                let color = index % colors
                pixels[index * 4] = UInt8(truncatingIfNeeded: color * 7)
                pixels[index * 4 + 1] = UInt8(truncatingIfNeeded: color * 3 + 5)
                pixels[index * 4 + 2] = UInt8(truncatingIfNeeded: color / 250)
                pixels[index * 4 + 3] = opaque ? 255 : UInt8(truncatingIfNeeded: 255 - color % 200)
            }
        }
    }

    @Test(arguments: [1, 2, 4, 16, 200, 2000], [true, false])
    func `PNG and lossless WebP give every pixel back`(_ colors: Int, _ opaque: Bool) throws {
        let image = try picture(colors: colors, opaque: opaque)
        var plain = ImageEncoder.PNGOptions(level: 1)
        plain.usesPalette = false
        for encoder in [ImageEncoder.png(), ImageEncoder(.png(plain)), .webp(isLossless: true)] {
            let again = try ImageDecoder().decode(ImageSource(encoder.encode(image)))
            #expect(again.meanDifference(from: image) == 0)
        }
    }

    @Test func `a palette takes as few bits as its colours need`() throws {
        for (colors, depth) in [(2, 1), (4, 2), (16, 4), (200, 8)] {
            let info = try ImageInfo.read(ImageSource(ImageEncoder.png().encode(picture(colors: colors, opaque: true))))
            #expect(info.bitDepth == depth && info.components == 1)
        }
        let many = try ImageInfo.read(ImageSource(ImageEncoder.png().encode(picture(colors: 2000, opaque: true))))
        #expect(many.components == 3 && many.bitDepth == 8)
    }

    @Test func `a higher quality of JPEG and WebP is more accurate and larger`() throws {
        let photo = try ImageDecoder().decode(
            Corpus.shared.source("jpeg/exif-orientation-examples__Landscape_6.jpg"), to: .fit(128, 128))
        for (coarse, fine) in [
            (ImageEncoder.jpeg(quality: 30), ImageEncoder.jpeg(quality: 95)),
            (.webp(quality: 20), .webp(quality: 95)),
        ] {
            let small = try coarse.encode(photo)
            let large = try fine.encode(photo)
            #expect(small.count < large.count)
            let near = try ImageDecoder().decode(ImageSource(large)).meanDifference(from: photo)
            let far = try ImageDecoder().decode(ImageSource(small)).meanDifference(from: photo)
            #expect(near < far && near < 4)
        }
    }

    @Test func `JPEG is progressive and subsampled as asked`() throws {
        let image = try picture(colors: 2000, opaque: true)
        var options = ImageEncoder.JPEGOptions(quality: 90)
        let small = try ImageEncoder(.jpeg(options)).encode(image)
        #expect(try !ImageInfo.read(ImageSource(small)).isProgressive)
        options.isProgressive = true
        options.subsampling = .none444
        let large = try ImageEncoder(.jpeg(options)).encode(image)
        #expect(try ImageInfo.read(ImageSource(large)).isProgressive)
        let near = try ImageDecoder().decode(ImageSource(large)).meanDifference(from: image)
        #expect(try near < ImageDecoder().decode(ImageSource(small)).meanDifference(from: image))
    }

    @Test func `transparency is blended onto the background in a JPEG`() throws {
        let clear = try DecodedImage.plain(16, 16, [255, 0, 0, 0])
        var options = ImageEncoder.JPEGOptions(quality: 100)
        let white = try ImageDecoder().decode(ImageSource(ImageEncoder(.jpeg(options)).encode(clear)))
        #expect(white[8, 8] == [255, 255, 255, 255])
        options.background = ImageSizing.Color(red: 0, green: 128, blue: 0)
        let green = try ImageDecoder().decode(ImageSource(ImageEncoder(.jpeg(options)).encode(clear)))
        #expect(abs(Int(green[8, 8].y) - 128) <= 2 && green[8, 8].x <= 2)
    }

    @Test func `options out of range and sizes that a format cannot hold are errors`() throws {
        let image = try DecodedImage.plain(4, 4, [1, 1, 1, 255])
        let wide = try DecodedImage.plain(16384, 1, [1, 1, 1, 255])
        var effort = ImageEncoder.WebPOptions()
        effort.effort = 7
        for (encoder, image) in [
            (ImageEncoder.jpeg(quality: 0), image), (.jpeg(quality: 101), image), (.png(level: 10), image),
            (.webp(quality: -1), image), (.webp(quality: .nan), image), (ImageEncoder(.webp(effort)), image),
            (.webp(), wide),
        ] {
            let error = #expect(throws: ImageCodecError.self) { try encoder.encode(image) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func `a kept profile and kept metadata are written to every format`() throws {
        var decoder = ImageDecoder()
        decoder.color = .keepProfile
        decoder.keepsMetadata = true
        var image = try decoder.decode(Corpus.shared.source("jpeg/Pillow__icc_profile_big.jpg"), to: .fit(40, 40))
        #expect((image.profile?.count ?? 0) > 100_000)
        image.exif = Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        for encoder in [ImageEncoder.jpeg(), .png(), .webp(), .webp(isLossless: true)] {
            let again = try decoder.decode(ImageSource(encoder.encode(image)))
            #expect(again.profile == image.profile, "\(encoder.format)")
            #expect(again.exif == image.exif, "\(encoder.format)")
            let stripped = try ImageDecoder().decode(ImageSource(encoder.encode(image)))
            #expect(stripped.profile == nil && stripped.exif == nil)
        }
    }
}
