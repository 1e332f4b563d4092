import Testing

@testable import ImageCodec

/// AVIF, read and written. Pixels of good files are compared with avifdec's in ReferencePixelTests.
@Suite struct AVIFTests {
    private func source(_ name: String) throws -> ImageSource { try Corpus.shared.source("avif/gen__\(name).avif") }

    @Test func `the header of an AVIF file reports depth, alpha and frames`() throws {
        let deep = try ImageInfo.read(source("d12_444"))
        #expect(deep.format == .avif && deep.bitDepth == 12 && !deep.hasAlpha && deep.frames == 1)
        #expect((deep.width, deep.height) == (96, 64))
        #expect(try ImageInfo.read(source("alpha_d10_420")).hasAlpha)
        #expect(try ImageInfo.read(source("gray")).components == 1)
        #expect(try ImageInfo.read(source("sequence")).frames == 2)
    }

    @Test func `a frame of an AVIF sequence has the pixels of avifdec`() throws {
        var decoder = ImageDecoder()
        let hashes = [
            "f4e73ba2f77d44d5d35e4d4c383572e557b53176abb64c0d93c69b5cf3144092",
            "8855b4cc6814956f4d88598c063cbd1811a9a338177229458a67c680880cb699",
        ]
        for (number, hash) in hashes.enumerated() {
            decoder.frame = number
            #expect(try decoder.decode(source("sequence")).hash == hash, "frame \(number)")
        }
        for (frame, file) in [(2, "sequence"), (1, "gray")] {
            decoder.frame = frame
            let error = #expect(throws: ImageCodecError.self) { try decoder.decode(source(file)) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func `the clean aperture of an AVIF file is the size of the image`() throws {
        let info = try ImageInfo.read(source("clap"))
        #expect((info.width, info.height) == (48, 32))
    }

    @Test(arguments: ["rot0mir0", "rot1mir0", "rot1mir1", "rot3mir1"])
    func `a rotation and a mirroring of the container are applied`(_ name: String) throws {
        let source = try Corpus.shared.source("avif/Pillow__\(name).avif")
        let image = try ImageDecoder().decode(source, to: .fit(64, 64))
        #expect(image.width > image.height)
        #expect(try ImageInfo.read(source).orientation != .up)
    }

    @Test func `colours of other primaries are converted to sRGB`() throws {
        let converted = try ImageDecoder().decode(source("p3"))
        var decoder = ImageDecoder()
        decoder.color = .keepProfile
        let stored = try decoder.decode(source("p3"))
        #expect(converted.meanDifference(from: stored) > 0.5)
    }

    @Test func `a smaller image is made of the same rows as the whole one`() throws {
        let whole = try ImageDecoder().decode(source("grid"))
        let small = try ImageDecoder().decode(source("grid"), to: .fit(100, 100))
        #expect(try whole.resized(to: .fit(100, 100)).meanDifference(from: small) == 0)
    }

    @Test func `an encoded AVIF image is read with nearly the same pixels`() throws {
        let image = try ImageDecoder().decode(Corpus.shared.source("png/codec-corpus__24.png"), to: .fit(128, 128))
        let file = try ImageEncoder.avif(quality: 90).encode(image)
        #expect(ImageFormat.detect(file) == .avif)
        let read = try ImageDecoder().decode(ImageSource(file))
        #expect(read.width == image.width && read.height == image.height && read.isOpaque)
        #expect(read.meanDifference(from: image) < 6)
        #expect(try ImageEncoder.avif(quality: 30).encode(image).count < file.count)
    }

    @Test func `transparency, a kept profile and a kept Exif block are written to AVIF`() throws {
        let image = try ImageDecoder().decode(source("alpha"))
        #expect(!image.isOpaque)
        let read = try ImageDecoder().decode(ImageSource(ImageEncoder.avif(quality: 90).encode(image)))
        #expect(!read.isOpaque && read.meanDifference(from: image) < 6)
        var decoder = ImageDecoder()
        decoder.color = .keepProfile
        decoder.keepsMetadata = true
        let photo = try decoder.decode(Corpus.shared.source("webp/Pillow__flower2.webp"), to: .fit(64, 64))
        let kept = try decoder.decode(ImageSource(ImageEncoder.avif().encode(photo)))
        #expect(kept.profile == photo.profile && photo.profile != nil)
        #expect(kept.exif == photo.exif)
    }

    @Test func `AVIF refuses unsupported options and sizes, and respects the limits`() throws {
        let image = try DecodedImage(width: 64, height: 64) { $0.initializeMemory(as: UInt8.self, repeating: 200) }
        for encoder in [ImageEncoder.avif(quality: 101), .avif(speed: 11), .avif(quality: -1)] {
            let error = #expect(throws: ImageCodecError.self) { try encoder.encode(image) }
            #expect(error?.code == .invalidArgument)
        }
        var limits = DecodingLimits()
        limits.seconds = 0
        var decoder = ImageDecoder()
        decoder.limits = limits
        let late = #expect(throws: ImageCodecError.self) { try decoder.decode(source("d10")) }
        #expect(late?.code == .limitExceeded)
        let slow = #expect(throws: ImageCodecError.self) {
            try ImageEncoder.avif().encode(image, within: ImageBudget(limits: limits))
        }
        #expect(slow?.code == .limitExceeded)
        decoder.limits = DecodingLimits()
        decoder.limits.pixels = 1000
        let large = #expect(throws: ImageCodecError.self) { try decoder.decode(source("d10")) }
        #expect(large?.code == .limitExceeded)
    }
}
