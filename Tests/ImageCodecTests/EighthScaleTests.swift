import CImageCodec
import TestSupport
import Testing

@testable import ImageCodec

/// JPEGs at 1/8 of their size: the package's own decoder against libjpeg.
@Suite struct EighthScaleTests {
    private enum Outcome: Equatable {
        /// The file, or its damaged part, is decoded by libjpeg.
        case left
        case same
        /// Other pixels than libjpeg's, or pixels of a file in which libjpeg finds a defect.
        case different(String)
    }

    /// Decodes a file twice.
    private func outcome(_ source: ImageSource, windowSize: Int = 64 << 10) throws -> Outcome {
        var limits = DecodingLimits()
        limits.seconds = 600
        return try source.lend { (lent) throws(ImageCodecError) in
            var watch = icodec_watch(deadline: .infinity, stop: nil)
            let reader = try JPEGReader(lent, limits: limits.lowered(allowTruncated: false, watch))
            guard let scan = reader.scan, var decoder = EighthScaleDecoder(scan, windowSize: windowSize),
                try decoder.run(reader, &watch)
            else { return .left }
            let quick = EighthScaleReader(decoder)
            let pixels = try rows(quick, &watch)
            try reader.start(eighths: 1, rawCMYK: false, &watch)
            let expected = try rows(reader, &watch)
            try reader.finish(&watch)
            if let damage = reader.damage { return .different("\(damage)") }
            guard quick.width == reader.width, quick.height == reader.height else { return .different("size") }
            return pixels == expected ? .same : .different("pixels")
        }
    }

    private func rows(_ reader: some RowReading, _ watch: inout icodec_watch) throws(ImageCodecError) -> [UInt8] {
        var rows = [UInt8](repeating: 0, count: reader.width * reader.height * 4)
        var count = 0
        while count < reader.height {
            let stride = reader.width * 4
            let part = try rows.withUnsafeMutableBufferPointer { (buffer) throws(ImageCodecError) in
                guard let base = buffer.baseAddress else { return 0 }
                return try reader.read(into: base + count * stride, count: min(7, reader.height - count), &watch)
            }
            if part == 0 { break }
            count += part
        }
        return rows
    }

    /// - Parameter detail: The side of areas of one colour; 1: the largest files.
    private func noise(
        _ width: Int, _ height: Int, detail: Int? = nil, _ generator: inout SeededGenerator
    ) throws -> DecodedImage {
        let flat = detail == nil ? UInt8.random(in: 1...255, using: &generator) : 255
        let detail = detail ?? Int.random(in: 1...24, using: &generator)
        let numbers = (0..<width * height * 4).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return try DecodedImage(width: width, height: height) { memory in
            for index in 0..<width * height {
                let cell = (index / width / detail * width + index % width / detail) * 4
                for channel in 0..<3 { memory[index * 4 + channel] = numbers[cell + channel] % flat }
                memory[index * 4 + 3] = 255
            }
        }
    }

    private func encoder(_ generator: inout SeededGenerator) -> ImageEncoder {
        var options = ImageEncoder.JPEGOptions(quality: Int.random(in: 1...100, using: &generator))
        options.subsampling = [.yes420, .yes422, .none444].randomElement(using: &generator) ?? .yes420
        return ImageEncoder(.jpeg(options))
    }

    @Test(.timeLimit)
    func `every file decoded at an eighth has libjpeg's pixels, or is left to libjpeg`() throws {
        var same = 0
        for file in Corpus.shared.files("good", ["jpeg"]) + Corpus.shared.files("hostile", []) {
            // Some are no JPEGs, or have headers that libjpeg rejects.
            guard let outcome = try? outcome(Corpus.shared.source(file.path)) else { continue }
            if case .different(let what) = outcome { Issue.record("\(file.path): \(what)") }
            if outcome == .same { same += 1 }
        }
        #expect(same > 50)
    }

    @Test(.timeLimit)
    func `files from the encoder are decoded at an eighth in all sizes, qualities and samplings`() throws {
        var generator = SeededGenerator(for: "pictures at an eighth")
        for _ in 0..<60 {
            let width = Int.random(in: 1...90, using: &generator)
            let height = Int.random(in: 1...90, using: &generator)
            let bytes = try encoder(&generator).encode(noise(width, height, &generator))
            #expect(try outcome(ImageSource(bytes)) == .same, "\(width) x \(height)")
        }
    }

    @Test(.timeLimit)
    func `a file of many windows, truncated or altered, never has pixels that differ from libjpeg's`()
        throws
    {
        var generator = SeededGenerator(for: "damage at an eighth")
        var options = ImageEncoder.JPEGOptions(quality: 98)
        options.subsampling = .yes420
        let bytes = try ImageEncoder(.jpeg(options)).encode(noise(600, 400, detail: 1, &generator))
        #expect(bytes.count > 2 * 64 << 10)
        #expect(try outcome(ImageSource(bytes)) == .same)
        #expect(try outcome(ImageSource(bytes), windowSize: EntropyWindow.margin + 64) == .same)
        let start = try #require((2..<bytes.count).first { bytes[$0 - 2] == 0xFF && bytes[$0 - 1] == 0xDA })
        for length in (0..<12).map({ _ in Int.random(in: start + 12..<bytes.count, using: &generator) }) {
            #expect(try outcome(ImageSource(Array(bytes.prefix(length)))) == .left, "\(length) bytes")
            #expect(try outcome(ImageSource(bytes.prefix(length) + [0xFF, 0xD9])) == .left, "\(length) bytes, ended")
        }
        for _ in 0..<12 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: start..<bytes.count, using: &generator)
                damaged[place] = UInt8.random(in: 0...255, using: &generator)
            }
            if case .different(let what)? = try? outcome(ImageSource(damaged)) { Issue.record("\(what)") }
        }
    }

    @Test func `zeros before the end marker are skipped, and other bytes are not`() throws {
        var generator = SeededGenerator(for: "zeros at the end")
        for count in [1, 2, 3, 5, 8, 60, 3000] {
            let bytes = try encoder(&generator).encode(noise(70, 50, &generator))
            let data = Array(bytes.dropLast(2))
            let zeros = [UInt8](repeating: 0, count: count)
            // Fewer than eight bits that are left may be all that has been read so far: then libjpeg decides.
            let padded = try outcome(ImageSource(data + zeros + [0xFF, 0xD9]))
            #expect(padded == .same || padded == .left, "\(count) zeros")
            for other: [UInt8] in [zeros + [1], [1] + zeros, [0xFF, 0] + zeros] {
                #expect(try outcome(ImageSource(data + other + [0xFF, 0xD9])) == .left, "\(count) zeros and more")
            }
            #expect(try outcome(ImageSource(data + zeros)) == .left)
        }
    }

    @Test func `a damaged large file is shown and reported`() throws {
        var generator = SeededGenerator(for: "a damaged large file")
        let whole = try ImageEncoder.jpeg(quality: 98).encode(noise(640, 400, detail: 1, &generator))
        #expect(whole.count >= EighthScaleDecoder.smallestFile)
        let decoder = ImageDecoder()
        #expect(try decoder.decode(ImageSource(whole), to: .fit(30, 30)).damage == nil)
        var damaged = whole
        for index in 0..<40 { damaged[whole.count / 2 + index] = 0 }
        #expect(try decoder.decode(ImageSource(damaged), to: .fit(30, 30)).damage != nil)
        let error = #expect(throws: ImageCodecError.self) {
            try decoder.decode(ImageSource(Array(whole.prefix(whole.count / 2))), to: .fit(30, 30))
        }
        #expect(error?.code == .truncated)
    }

    @Test func `Huffman codes that libjpeg rejects are rejected`() {
        func code(_ counts: [UInt8]) -> icodec_jpeg_code {
            var code = icodec_jpeg_code()
            withUnsafeMutableBytes(of: &code.counts) { $0.copyBytes(from: counts) }
            return code
        }
        #expect(HuffmanCode(code([])) == nil)
        #expect(HuffmanCode(code([2])) == nil)
        #expect(HuffmanCode(code([1, 2])) == nil)
        #expect(HuffmanCode(code([0, 5])) == nil)
        #expect(HuffmanCode(code([255, 255])) == nil)
        #expect(HuffmanCode(code([1, 1])) != nil)
        let long = HuffmanCode(code([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 3, 0, 2]))
        #expect(long?.firstLong == 0b1111_1111_1111_0000 && long?.entries.count == 8192 + 16)
    }
}
