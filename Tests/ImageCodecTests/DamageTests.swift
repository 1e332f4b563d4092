import TestSupport
import Testing

@testable import ImageCodec

/// Truncated files, with and without an end marker, and files with damaged data are distinguished.
@Suite struct DamageTests {
    private static let width = 400
    private static let height = 304

    private static func picture() throws(ImageCodecError) -> DecodedImage {
        try DecodedImage(width: width, height: height) { memory in
            for index in 0..<(width * height) {
                let (x, y) = (index % width, index / width)
                memory[index * 4] = UInt8(truncatingIfNeeded: x &* y / 7)
                memory[index * 4 + 1] = UInt8(truncatingIfNeeded: (x ^ y) &* 3)
                memory[index * 4 + 2] = UInt8(truncatingIfNeeded: x &+ y &* 5)
                memory[index * 4 + 3] = 255
            }
        }
    }

    /// A file of each kind, and what ends it.
    private static let files: [(name: String, bytes: [UInt8], end: [UInt8])] = {
        var progressive = ImageEncoder.JPEGOptions(quality: 85)
        progressive.isProgressive = true
        let iend: [UInt8] = [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82]
        let kinds: [(String, ImageEncoder, [UInt8])] = [
            ("JPEG", .jpeg(quality: 85), [0xFF, 0xD9]),
            ("progressive JPEG", ImageEncoder(.jpeg(progressive)), [0xFF, 0xD9]),
            ("PNG", .png(level: 3), iend), ("WebP", .webp(quality: 80), []),
            ("lossless WebP", .webp(isLossless: true), []),
        ]
        return kinds.compactMap { name, encoder, end in
            guard let image = try? picture(), let bytes = try? encoder.encode(image) else { return nil }
            return (name, bytes, end)
        }
    }()

    private func code(_ bytes: [UInt8], _ sizing: ImageSizing?) -> ImageCodecError.Code? {
        do throws(ImageCodecError) {
            _ = try ImageDecoder().decode(ImageSource(bytes), to: sizing)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: [5, 20, 35, 50, 65, 80, 90])
    func `a truncated file is an error at every size, even with an end marker`(
        percent: Int
    ) throws {
        #expect(Self.files.count == 5)
        for file in Self.files {
            let cut = Array(file.bytes.prefix(file.bytes.count * percent / 100))
            for sizing in [nil, .fit(100, 100), .fit(20, 20)] as [ImageSizing?] {
                #expect(code(file.bytes, sizing) == nil)
                #expect(code(cut, sizing) == .truncated, "\(file.name) to \(percent) %")
                let ended = code(cut + file.end, sizing)
                #expect(
                    ended == .truncated,
                    "\(file.name) to \(percent) %, with an end: \(ended.map { "\($0)" } ?? "whole")")
            }
        }
    }

    @Test func `the offset of an error lies within the file, even if a segment claims more bytes`()
        throws
    {
        for file in Self.files where file.name.hasSuffix("JPEG") {
            for marker: UInt8 in [0xE5, 0xFE, 0xE2] {
                let bytes =
                    Array(file.bytes.prefix(2)) + [0xFF, marker, 0x7F, 0xFF] + Array(file.bytes.dropFirst(2).prefix(50))
                let error = #expect(throws: ImageCodecError.self) { try ImageDecoder().decode(ImageSource(bytes)) }
                #expect(error?.code == .truncated)
                #expect(try #require(error?.offset) <= bytes.count)
            }
        }
    }

    @Test func `a truncated WebP with corrected sizes is an error`() throws {
        for file in Self.files where file.name.hasSuffix("WebP") {
            var cut = Array(file.bytes.prefix(file.bytes.count * 2 / 3 / 2 * 2))
            func write(_ value: Int, at place: Int) {
                for index in 0..<4 { cut[place + index] = UInt8(truncatingIfNeeded: value >> (index * 8)) }
            }
            write(cut.count - 8, at: 4)
            write(cut.count - 20, at: 16)
            #expect(code(cut, nil) != nil && code(cut, .fit(50, 50)) != nil, "\(file.name)")
        }
    }

    @Test func `allowTruncated decodes a truncated file and reports the damage`() throws {
        var decoder = ImageDecoder()
        decoder.allowTruncated = true
        for file in Self.files {
            let cut = Array(file.bytes.prefix(file.bytes.count * 7 / 10)) + file.end
            for sizing in [nil, .fit(100, 100)] as [ImageSizing?] {
                let image = try decoder.decode(ImageSource(cut), to: sizing)
                #expect(image.damage?.code == .truncated, "\(file.name): \(image.damage.map { "\($0)" } ?? "none")")
            }
        }
    }

    @Test func `a JPEG without its last blocks is not taken for complete`() throws {
        for file in Self.files where file.name.hasSuffix("JPEG") {
            for lacking in [3, 10, 40, 120] {
                let cut = Array(file.bytes.dropLast(lacking + 2)) + file.end
                do throws(ImageCodecError) {
                    let image = try ImageDecoder().decode(ImageSource(cut))
                    #expect(image.damage != nil, "\(file.name) without \(lacking) bytes")
                } catch {
                    #expect(error.code == .truncated)
                }
            }
        }
    }

    @Test func `no good file is reported as damaged`() throws {
        // Some files lack data, or have too many, on purpose.
        let odd = ["Landscape", "partial_progressive", "progressive-missing", "extraneous-data"]
        for file in Corpus.shared.files("good", ["jpeg"]) where !odd.contains(where: file.path.contains) {
            let image = try ImageDecoder().decode(Corpus.shared.source(file.path), to: .fit(40, 40))
            #expect(image.damage == nil, "\(file.path): \(image.damage.map { "\($0)" } ?? "")")
        }
    }

    @Test func `zeros before the end marker of a JPEG are not damage`() throws {
        let file = try #require(Self.files.first)
        let start = Array(file.bytes[..<(file.bytes.count - 2)])
        let padded = start + [UInt8](repeating: 0, count: 300) + file.end
        #expect(try ImageDecoder().decode(ImageSource(padded)).damage == nil)
        let garbage = start + [UInt8](repeating: 7, count: 300) + file.end
        #expect(try ImageDecoder().decode(ImageSource(garbage)).damage?.code == .corrupt)
    }

    @Test func `damaged data in a JPEG is shown, and every later step reports it`() throws {
        var generator = SeededGenerator(for: "damage")
        var told = 0
        for file in Self.files where file.name == "JPEG" {
            let start = file.bytes.count / 3
            for _ in 0..<40 {
                var bytes = file.bytes
                for place in 0..<24 { bytes[start + place] = UInt8.random(in: 0...254, using: &generator) }
                let image = try? ImageDecoder().decode(ImageSource(bytes), to: .fit(100, 100))
                guard let image, image.damage != nil else { continue }
                told += 1
                #expect(image.damage?.code == .corrupt)
                #expect(try image.oriented(.right).grayscaled().damage == image.damage)
            }
        }
        // Some random data are another valid image, which is undetectable.
        #expect(told > 2)
    }
}
