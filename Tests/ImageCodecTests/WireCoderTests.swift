import CImageCodec
import Testing

@testable import ImageCodec

/// Values as bytes, for another process.
struct WireCoderTests {
    private func copy<Value: WireCodable>(_ value: Value, over other: Value) throws -> Value {
        var (value, other, writer) = (value, other, WireCoder())
        try value.code(by: &writer)
        var reader = WireCoder(reading: writer.bytes)
        try other.code(by: &reader)
        try reader.end()
        return other
    }

    @Test func `sizes and encoders are sent to a worker unchanged`() throws {
        var sizing = ImageSizing.cover(120, 80, position: .focus(x: 0.25, y: 0.75))
        sizing.allowsEnlargement = true
        sizing.devicePixelRatio = 2
        sizing.background = ImageSizing.Color(red: 1, green: 2, blue: 3)
        #expect(try copy(sizing, over: ImageSizing()) == sizing)
        for position in [ImageSizing.Position.bottomRight, .attention, .entropy, .at(x: 1, y: 0.5)] {
            #expect(try copy(position, over: .center) == position)
        }
        var jpeg = ImageEncoder.JPEGOptions(quality: 33)
        (jpeg.isProgressive, jpeg.subsampling, jpeg.background) = (true, .none444, .black)
        for encoder in [
            ImageEncoder(.jpeg(jpeg)), .png(level: 3), .webp(quality: 12.5, isLossless: true), .avif(speed: 9),
            .gif(colors: 17, isDithered: false),
        ] {
            #expect(try copy(encoder, over: .jpeg()) == encoder)
        }
    }

    @Test func `limits and decoder options are sent to a worker unchanged`() throws {
        var decoder = ImageDecoder()
        decoder.limits.pixels = 12_345
        decoder.limits.seconds = 1.5
        (decoder.allowTruncated, decoder.color, decoder.frame) = (true, .keepProfile, 7)
        (decoder.keepsMetadata, decoder.appliesOrientation, decoder.usesLinearLight) = (true, false, true)
        let read = try copy(decoder, over: ImageDecoder())
        #expect(read.limits == decoder.limits && read.frame == 7 && read.color == .keepProfile)
        #expect(read.allowTruncated && read.keepsMetadata && !read.appliesOrientation && read.usesLinearLight)
    }

    @Test func `a header with profile and Exif is sent to a worker unchanged`() throws {
        var header = ImageHeader.none
        header.description.width = 640
        header.description.height = 480
        header.description.gamma = 0.45
        header.description.chromaticities.7 = 0.06
        header = ImageHeader(header.description, .png, fileSize: 99)
        header.profile = [1, 2, 3]
        header.exif = ExifBlock([9, 9])
        header.orientation = .left
        let read = try copy(header, over: .none)
        #expect((read.width, read.height, read.fileSize) == (640, 480, 99))
        #expect(read.format == .png && read.profile == [1, 2, 3] && read.exif?.bytes == [9, 9])
        #expect(read.orientation == .left && read.description.chromaticities.7 == 0.06)
        #expect(read.isPossible(within: DecodingLimits()))
        var limits = DecodingLimits()
        limits.pixels = 640 * 480 - 1
        #expect(!read.isPossible(within: limits))
    }

    @Test func `an error is sent to a worker unchanged`() throws {
        let error = ImageCodecError(.truncated, format: .gif, offset: 12, "a reason")
        #expect(try copy(error, over: ImageCodecError(.failed, "")) == error)
    }

    @Test func `pixels are sent to a worker unchanged, inline or in shared memory`() throws {
        for side in [4, 200] {
            SharedMemory.isPreferred = side == 200
            let image = try DecodedImage(width: side, height: side) { memory in
                for index in memory.indices { memory[index] = UInt8(truncatingIfNeeded: index * 7) }
            }
            SharedMemory.isPreferred = false
            let bytes = image.withUnsafeBytes { Array($0) }
            var writer = WireCoder()
            let descriptor = try image.surrender(by: &writer)
            #expect((descriptor != nil) == (side == 200))
            var reader = WireCoder(reading: writer.bytes)
            let read = try DecodedImage(from: &reader, descriptor)
            try reader.end()
            #expect((read.width, read.height, read.isOpaque) == (side, side, false))
            #expect(read.withUnsafeBytes { Array($0) } == bytes)
        }
    }

    @Test func `shared memory that is too small, or still writable by its sender, is rejected`() throws {
        let memory = try #require(SharedMemory(byteCount: 4096))
        let descriptor = memory.duplicate()
        #expect(SharedMemory(adopting: descriptor, byteCount: 4096, isSentOn: false) == nil)
        _ = memory.surrender()
        #expect(SharedMemory(adopting: descriptor, byteCount: 4096, isSentOn: true) != nil)
        let small = try #require(SharedMemory(byteCount: 4096))
        #expect(SharedMemory(adopting: small.surrender(), byteCount: 4097, isSentOn: false) == nil)
        #expect(SharedMemory(adopting: 99_999, byteCount: 4096, isSentOn: false) == nil)
    }

    @Test func `a truncated or altered message gives an error or another value, never a crash`() throws {
        var header = ImageHeader.none
        (header.description.width, header.description.height) = (10, 10)
        header = ImageHeader(header.description, .webp, fileSize: 10)
        header.profile = Array(repeating: 1, count: 50)
        var writer = WireCoder()
        try header.code(by: &writer)
        for length in 0..<writer.bytes.count {
            var (reader, read) = (WireCoder(reading: Array(writer.bytes.prefix(length))), ImageHeader.none)
            #expect(throws: WireCoder.Malformed.self) { try read.code(by: &reader) }
        }
        for position in writer.bytes.indices {
            for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] {
                var bytes = writer.bytes
                bytes[position] = value
                var (reader, read) = (WireCoder(reading: bytes), ImageHeader.none)
                guard (try? read.code(by: &reader)) != nil else { continue }
                if read.isPossible(within: DecodingLimits()) {
                    _ = try? ImageDecoder().target(.fit(5, 5), of: read)
                    _ = read.memory(at: .whole)
                }
            }
        }
    }
}
