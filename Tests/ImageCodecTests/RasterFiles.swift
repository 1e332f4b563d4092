import Testing

@testable import ImageCodec

/// A TIFF, BMP or ICO of TestAssets, and the PNG of its pixels in TestAssets/raster.
struct RasterFile: Sendable, CustomTestStringConvertible {
    let path: String
    let reference: String
    /// The largest difference of a value: other decoders round in another way.
    let tolerance: Int

    var testDescription: String { path }

    /// Files of a folder by the picture that they have, with names that a space separates.
    static func list(_ folder: String, _ ending: String, _ table: [(String, Int, String)]) -> [RasterFile] {
        table.flatMap { reference, tolerance, names in
            names.split(separator: " ").map {
                RasterFile(path: "\(folder)/gen__\($0)\(ending)", reference: reference, tolerance: tolerance)
            }
        }
    }

    func bytes() throws -> [UInt8] { try Corpus.shared.bytes(path) }

    /// Compares the pixels with the reference. Colours of transparent pixels do not count.
    func checkPixels() throws {
        var decoder = ImageDecoder()
        decoder.color = .keepProfile
        let image = try decoder.decode(Corpus.shared.source(path)).withoutHiddenColors
        let picture = try Corpus.shared.source("raster/gen__\(reference).png")
        let expected = try ImageDecoder().decode(picture).withoutHiddenColors
        #expect((image.width, image.height) == (expected.width, expected.height))
        let largest = image.withUnsafeBytes { mine in
            expected.withUnsafeBytes { theirs in zip(mine, theirs).map { abs(Int($0) - Int($1)) }.max() ?? 0 }
        }
        #expect(largest <= tolerance)
    }

    /// Cuts the file at up to some 250 places: each part is truncated, or has all pixels.
    func checkCuts() throws {
        let file = try bytes()
        let whole = try ImageDecoder().decode(ImageSource(file))
        let step = max(1, file.count / 200)
        for cut in Set(stride(from: 0, to: file.count, by: step)).union(max(0, file.count - 50)..<file.count) {
            do throws(ImageCodecError) {
                let image = try ImageDecoder().decode(ImageSource(Array(file[..<cut])))
                #expect(image.hash == whole.hash, "\(cut) of \(file.count) bytes")
            } catch {
                // Without its signature it is not an image.
                let isNone = cut < 30 && error.code == .unsupportedFormat
                #expect(error.code == .truncated || isNone, "\(cut) of \(file.count) bytes: \(error)")
            }
        }
    }

    /// Decodes variants with wrong bytes: images, or errors that say why.
    static func checkMutants(
        of files: [RasterFile], count: Int, using generator: inout some RandomNumberGenerator
    ) throws {
        let samples = try files.map { try $0.bytes() }
        var decoder = ImageDecoder()
        decoder.limits.pixels = 1 << 20
        decoder.limits.memory = 32 << 20
        for number in 0..<count {
            var bytes = samples[number % samples.count]
            for _ in 0..<Int.random(in: 1...5, using: &generator) {
                // Headers stand at the beginning, and a TIFF's directory at the end.
                let range =
                    switch Int.random(in: 0..<3, using: &generator) {
                    case 0: 0..<bytes.count
                    case 1: 0..<min(160, bytes.count)
                    default: max(0, bytes.count - 250)..<bytes.count
                    }
                let place = Int.random(in: range, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes[place] = 0xFF
                case 2: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                default: bytes[place] = 0
                }
            }
            if number % 8 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator)) }
            do throws(ImageCodecError) {
                let image = try decoder.decode(ImageSource(bytes))
                #expect(image.width * image.height <= decoder.limits.pixels)
            } catch {
                #expect(!error.reason.isEmpty && error.code != .failed, "\(error)")
            }
        }
    }

    /// Decodes a file with each limit below what it takes.
    static func checkLimits(_ path: String, memory: Int) throws {
        func code(_ change: (inout DecodingLimits) -> Void) throws -> ImageCodecError.Code? {
            var decoder = ImageDecoder()
            change(&decoder.limits)
            do throws(ImageCodecError) {
                _ = try decoder.decode(ImageSource(path: Corpus.shared.place(path)))
                return nil
            } catch {
                return error.code
            }
        }
        #expect(try code { _ in } == nil)
        #expect(try code { $0.pixels = 23 * 17 - 1 } == .limitExceeded)
        #expect(try code { $0.side = 22 } == .limitExceeded)
        #expect(try code { $0.bytes = 100 } == .limitExceeded)
        #expect(try code { $0.memory = memory } == .limitExceeded)
        #expect(try code { $0.seconds = 0 } == .limitExceeded)
    }
}
