import Testing

@testable import ImageCodec

@Suite struct PreviewTests {
    /// A progressive JPEG of a photo.
    private func progressive() throws -> (bytes: [UInt8], image: DecodedImage) {
        let photo = try ImageDecoder().decode(
            Corpus.shared.source("jpeg/exif-orientation-examples__Landscape_6.jpg"), to: .fit(320, 320))
        var options = ImageEncoder.JPEGOptions(quality: 90)
        options.isProgressive = true
        return (try ImageEncoder(.jpeg(options)).encode(photo), photo)
    }

    @Test(arguments: [1, 700, 1 << 20])
    func `a progressive JPEG gives better previews as it arrives, and the last equals the file`(_ size: Int) throws {
        let (bytes, _) = try progressive()
        #expect(try ImageInfo.read(ImageSource(bytes)).isProgressive)
        let final = try ImageDecoder().decode(ImageSource(bytes))
        let preview = ProgressiveJPEGPreview()
        var distances: [Double] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            guard try preview.append(Array(bytes[start..<min(start + size, bytes.count)])) else { continue }
            distances.append(try #require(try preview.image()).meanDifference(from: final))
        }
        #expect(distances.last == 0)
        #expect(distances == distances.sorted(by: >))
        if size < 1000 { #expect(distances.count > 4) }
    }

    @Test func `previews have the requested size`() throws {
        let (bytes, _) = try progressive()
        let preview = ProgressiveJPEGPreview(sizing: .cover(50, 50))
        #expect(try preview.append(Array(bytes.prefix(bytes.count / 2))))
        let image = try #require(try preview.image())
        #expect(image.width == 50 && image.height == 50)
    }

    @Test func `a file that is not a progressive JPEG gives no preview and no error`() throws {
        let (_, image) = try progressive()
        for bytes in [try ImageEncoder.jpeg().encode(image), try ImageEncoder.png().encode(image)] {
            let preview = ProgressiveJPEGPreview()
            #expect(try !preview.append(bytes))
            #expect(try preview.image() == nil)
        }
    }

    @Test(arguments: [0, 2]) func `a cancelled preview neither reads nor decodes any further`(part: Int) throws {
        let (bytes, _) = try progressive()
        let cancellation = ImageCancellation()
        let preview = ProgressiveJPEGPreview(cancellation: cancellation)
        let before = part == 0 ? 0 : bytes.count / part
        #expect(try preview.append(Array(bytes.prefix(before))) == (before > 0))
        cancellation.cancel()
        if before > 0 {
            let error = #expect(throws: ImageCodecError.self) { try preview.image() }
            #expect(error?.code == .cancelled)
        }
        let error = #expect(throws: ImageCodecError.self) { try preview.append(Array(bytes.dropFirst(before))) }
        #expect(error?.code == .cancelled)
        #expect(try !preview.append(bytes) && preview.image() == nil)
    }

    @Test func `a preview obeys the limits`() throws {
        let (bytes, _) = try progressive()
        var decoder = ImageDecoder()
        decoder.limits.pixels = 1000
        let preview = ProgressiveJPEGPreview(decoder: decoder)
        let error = #expect(throws: ImageCodecError.self) { try preview.append(bytes) }
        #expect(error?.code == .limitExceeded)
        #expect(try !preview.append(bytes))
    }
}

/// Progressive files at 1/8, where most of the scans are left out.
@Suite struct CoarseDecodingTests {
    @Test(arguments: [0, 1, 2])
    func `a progressive JPEG gives at 1/8 the pixels of the baseline file it was made with`(_ sampling: Int) throws {
        let photo = try ImageDecoder().decode(
            Corpus.shared.source("jpeg/exif-orientation-examples__Landscape_6.jpg"), to: .fit(801, 801))
        var options = ImageEncoder.JPEGOptions(quality: 85)
        options.subsampling = [.yes420, .yes422, .none444][sampling]
        let baseline = try ImageEncoder(.jpeg(options)).encode(photo)
        options.isProgressive = true
        let progressive = try ImageEncoder(.jpeg(options)).encode(photo)
        let expected = try ImageDecoder().decode(ImageSource(baseline), to: .fit(40, 40))
        #expect(
            try ImageDecoder().decode(ImageSource(progressive), to: .fit(40, 40)).meanDifference(from: expected) == 0)
    }

    /// Longer than what is read at once, so that most of each comment is skipped.
    @Test func `long comments between the scans of a progressive JPEG do not matter at 1/8`() throws {
        let photo = try DecodedImage(width: 320, height: 240) { pixels in
            for index in 0..<pixels.count { pixels[index] = index % 4 == 3 ? 255 : UInt8(index * index / 800 % 251) }
        }
        var options = ImageEncoder.JPEGOptions(quality: 90)
        options.isProgressive = true
        let bytes = try ImageEncoder(.jpeg(options)).encode(photo)
        let comment: [UInt8] = [0xFF, 0xFE, 0xFF, 0xFF] + [UInt8](repeating: 7, count: 65_533)
        var commented: [UInt8] = []
        var scans = 0
        for (index, byte) in bytes.enumerated() {
            // Within the data of a scan, FF is followed by 00.
            if byte == 0xFF, index + 1 < bytes.count, bytes[index + 1] == 0xDA {
                commented += comment
                scans += 1
            }
            commented.append(byte)
        }
        #expect(scans > 4)
        let expected = try ImageDecoder().decode(ImageSource(bytes), to: .fit(20, 20))
        #expect(try ImageDecoder().decode(ImageSource(commented), to: .fit(20, 20)).meanDifference(from: expected) == 0)
    }

    @Test func `a progressive JPEG that is cut is an error at 1/8 too, wherever it is cut`() throws {
        let photo = try DecodedImage(width: 200, height: 160) { pixels in
            for index in 0..<pixels.count { pixels[index] = index % 4 == 3 ? 255 : UInt8(index * index / 800 % 251) }
        }
        var options = ImageEncoder.JPEGOptions(quality: 60)
        options.isProgressive = true
        let bytes = try ImageEncoder(.jpeg(options)).encode(photo)
        for count in stride(from: 2, to: bytes.count - 2, by: 7) {
            let error = #expect(throws: ImageCodecError.self) {
                try ImageDecoder().decode(ImageSource(Array(bytes.prefix(count))), to: .fit(10, 10))
            }
            #expect(error?.code == .truncated, "\(count)")
        }
    }
}
