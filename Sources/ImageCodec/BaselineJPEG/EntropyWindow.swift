internal import CImageCodec

/// The part of a file's data that is being decoded.
struct EntropyWindow {
    /// The bytes from ``start`` on. Beyond the end of the file there are end-of-image markers.
    private(set) var bytes: [UInt8]
    /// The position in the file of the first byte.
    private var start: UInt64
    private var filled = 0
    private var isLast = false

    /// More bytes than six blocks can take with 27 bits for the first coefficient and 31 for each other, when each byte is
    /// followed by a 0, and a refill behind them.
    static let margin = 4096

    init(start: UInt64, size: Int) {
        self.start = start
        bytes = [UInt8](repeating: 0, count: size)
    }

    /// The last position at which an MCU can be decoded before the window moves on.
    var limit: Int { isLast ? .max : filled - Self.margin }

    /// True if the file has this many bytes of the window.
    func has(_ count: Int) -> Bool { count <= filled }

    /// Moves on to a position in the window, which becomes 0. False if the file cannot be read.
    mutating func advance(to position: Int, by reader: JPEGReader) -> Bool {
        guard position <= filled else { return false }
        let kept = filled - position
        return bytes.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return false }
            base.update(from: base + position, count: kept)
            start += UInt64(position)
            filled = kept
            while !isLast, filled < buffer.count - 16 {
                let got = reader.peek(
                    at: start + UInt64(filled), into: base + filled, count: buffer.count - 16 - filled)
                guard got >= 0 else { return false }
                isLast = got == 0
                filled += got
            }
            if isLast { for index in 0..<16 { base[filled + index] = index & 1 == 0 ? 0xFF : 0xD9 } }
            return true
        }
    }
}
