/// Writes GIFs for tests, without compression: every way in which a file may be put together, and broken ones.
struct GIFSample {
    /// Red, green and blue of each colour.
    typealias Palette = [[UInt8]]

    static let rgb: Palette = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]

    private(set) var bytes: [UInt8]

    init(width: Int, height: Int, palette: Palette? = rgb) {
        bytes = Array("GIF89a".utf8) + Self.two(width) + Self.two(height)
        bytes += [palette == nil ? 0 : 0x81, 0, 0]
        if let palette { bytes += palette.flatMap { $0 } }
    }

    /// A frame's place and properties; its pixels are indices, row by row from the top.
    struct Frame {
        var x = 0
        var y = 0
        var width: Int
        var height: Int
        var indices: [UInt8]
        var palette: Palette?
        var isInterlaced = false
        var transparent: UInt8?
        var disposal: UInt8 = 0
        /// Hundredths of a second.
        var delay = 0
        /// The number of indices that are written; nil: all.
        var written: Int?

        init(x: Int = 0, y: Int = 0, width: Int, height: Int, fill: UInt8) {
            (self.x, self.y, self.width, self.height) = (x, y, width, height)
            indices = Array(repeating: fill, count: width * height)
        }
    }

    /// Appends a frame, with a control block if it needs one.
    mutating func append(_ frame: Frame) {
        let flags = frame.disposal << 2 | (frame.transparent == nil ? 0 : 1)
        bytes += [0x21, 0xF9, 4, flags] + Self.two(frame.delay) + [frame.transparent ?? 0, 0]
        bytes += [0x2C] + [frame.x, frame.y, frame.width, frame.height].flatMap(Self.two)
        bytes.append((frame.palette == nil ? 0 : 0x81) | (frame.isInterlaced ? 0x40 : 0))
        if let palette = frame.palette { bytes += palette.flatMap { $0 } }
        var indices = frame.indices
        if frame.isInterlaced {
            let rows = [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { stride(from: $0.0, to: frame.height, by: $0.1) }
            indices = rows.flatMap { row in frame.indices[row * frame.width..<(row + 1) * frame.width] }
        }
        bytes += Self.packed(indices.prefix(frame.written ?? indices.count))
    }

    mutating func append(_ more: [UInt8]) { bytes += more }

    /// Appends the trailer.
    func finished() -> [UInt8] { bytes + [0x3B] }

    private static func two(_ value: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
    }

    /// Codes of nine bits, with a clear code before the table would grow beyond them.
    private static func packed(_ indices: some Sequence<UInt8>) -> [UInt8] {
        var codes: [Int] = []
        for (number, index) in indices.enumerated() {
            if number % 250 == 0 { codes.append(256) }
            codes.append(Int(index))
        }
        var data: [UInt8] = []
        var (bits, held) = (0, 0)
        for code in codes + [257] {
            bits |= code << held
            held += 9
            while held >= 8 {
                data.append(UInt8(truncatingIfNeeded: bits))
                bits >>= 8
                held -= 8
            }
        }
        data.append(UInt8(truncatingIfNeeded: bits))
        var blocks: [UInt8] = [8]
        for start in stride(from: 0, to: data.count, by: 255) {
            let part = data[start..<min(start + 255, data.count)]
            blocks += [UInt8(part.count)] + part
        }
        return blocks + [0]
    }
}
