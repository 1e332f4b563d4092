internal import CImageCodec

/// A decoder of baseline JPEGs at 1/8 of their size. It takes half to two thirds of libjpeg's time, which is mostly spent on unneeded
/// coefficients; this decoder skips several of them at a time.
///
/// The samples are bit-identical to libjpeg's. Unusual files, including damaged ones, are left to libjpeg before any pixel is used.
struct EighthScaleDecoder {
    let layout: EighthScaleLayout
    private(set) var samples: [UInt8]
    var bits = EntropyBits(position: 0)
    /// The sample of each block of the next MCU.
    private var positions: [Int]
    /// The last first coefficient of each component.
    private var predictions: [Int]
    private var window: EntropyWindow
    private var column = 0
    private let interval: Int
    /// MCUs before the next restart marker.
    private var untilRestart: Int
    private var restarts: UInt8 = 0

    /// The smallest file for which making the tables pays, in bytes.
    static let smallestFile = 128 << 10

    /// Returns nil for a scan that is left to libjpeg.
    ///
    /// - Parameter windowSize: The number of bytes of the file in memory, more than ``EntropyWindow/margin``.
    init?(_ scan: icodec_jpeg_scan, windowSize: Int = 64 << 10) {
        guard let layout = EighthScaleLayout(scan) else { return nil }
        self.layout = layout
        samples = [UInt8](repeating: 0, count: layout.sampleCount)
        positions = layout.starts.map(\.first)
        predictions = [Int](repeating: 0, count: layout.planes.count)
        window = EntropyWindow(start: scan.offset, size: windowSize)
        interval = Int(scan.interval)
        untilRestart = interval == 0 ? .max : interval
    }

    /// The greatest memory in bytes that an image needs, in addition to its rows.
    static func memory(width: Int, height: Int) -> Int { 512 << 10 + (width + 15) / 8 * ((height + 15) / 8) * 3 }

    /// Decodes all samples. Returns false if the file must be left to libjpeg.
    mutating func run(_ reader: JPEGReader, _ watch: inout icodec_watch) throws(ImageCodecError) -> Bool {
        guard window.advance(to: 0, by: reader) else { return false }
        for row in 0..<layout.down {
            try watch.check()
            for (index, start) in layout.starts.enumerated() { positions[index] = start.first + row * start.step }
            column = 0
            decodeColumns()
            while column < layout.across {
                guard !bits.isDamaged, bits.position > window.limit,
                    window.advance(to: bits.position, by: reader)
                else { return false }
                bits.position = 0
                decodeColumns()
            }
            guard !bits.isDamaged, bits.left >= 0 else { return false }
        }
        let data = window.bytes
        bits = bits.passingZeros(data.span.bytes)
        return bits.isBefore(marker: 0xD9, in: data.span.bytes) && window.has(bits.position + 2)
    }

    /// Decodes MCUs until the row or the window ends, or damage is found.
    private mutating func decodeColumns() {
        let limit = window.limit
        let bytes = window.bytes
        while column < layout.across, bits.position <= limit {
            if untilRestart == 0, !restart() {
                bits.count = -1
                return
            }
            let count = min(layout.across - column, untilRestart)
            let decoded = EighthScaleMCUs.decode(
                &bits, bytes, limit: limit, count: count, layout, &positions, &predictions, &samples)
            if bits.isDamaged { return }
            column += decoded
            if interval > 0 { untilRestart -= decoded }
        }
    }

    /// Passes over a restart marker (ITU-T T.81, F.2.1.3.1); false if it is not there.
    private mutating func restart() -> Bool {
        let position = bits.position + 2
        guard bits.isBefore(marker: 0xD0 + restarts, in: window.bytes.span.bytes), window.has(position) else {
            return false
        }
        restarts = (restarts + 1) & 7
        untilRestart = interval
        bits = EntropyBits(position: position)
        for index in predictions.indices { predictions[index] = 0 }
        return true
    }
}
