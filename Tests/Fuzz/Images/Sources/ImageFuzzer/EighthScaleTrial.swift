import CImageCodec

@testable import ImageCodec

/// Decodes a JPEG at 1/8 of its size by the package's own decoder, and compares with libjpeg whatever it produces.
struct EighthScaleTrial {
    private let source: ImageSource
    private var limits = DecodingLimits()

    init(_ bytes: [UInt8]) {
        source = ImageSource(bytes)
        limits.pixels = 1 << 22
        limits.memory = 64 << 20
    }

    func run() {
        try? source.lend { (lent) throws(ImageCodecError) in
            var watch = icodec_watch(deadline: .infinity, stop: nil)
            let reader = try JPEGReader(lent, limits: limits.lowered(allowTruncated: false, watch))
            // Windows so small that they move on within a file.
            guard let scan = reader.scan, var decoder = EighthScaleDecoder(scan, windowSize: EntropyWindow.margin + 64),
                try decoder.run(reader, &watch)
            else { return }
            let quick = EighthScaleReader(decoder)
            let pixels = try rows(quick, &watch)
            // From here on nothing may fail: the file was decoded without a defect.
            do throws(ImageCodecError) {
                try reader.start(eighths: 1, rawCMYK: false, &watch)
                let expected = try rows(reader, &watch)
                try reader.finish(&watch)
                precondition(reader.damage == nil, "libjpeg finds damage")
                precondition((quick.width, quick.height) == (reader.width, reader.height), "another size")
                precondition(pixels == expected, "other pixels")
            } catch {
                preconditionFailure("libjpeg fails: \(error)")
            }
        }
    }

    private func rows(_ reader: some RowReading, _ watch: inout icodec_watch) throws(ImageCodecError) -> [UInt8] {
        var rows = [UInt8](repeating: 0, count: reader.width * reader.height * 4)
        let count = try reader.read(into: &rows, count: reader.height, &watch)
        precondition(count == reader.height, "rows are missing")
        return rows
    }
}
