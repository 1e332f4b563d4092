internal import CImageCodec

/// One Huffman code of a JPEG (ITU-T T.81, annex C) as a table. It maps the next 16 bits of input to the code at their start.
struct HuffmanCode {
    /// The number of bits by which codes are found in the first part of `entries`.
    static let shortBits = 13

    /// A code: its length in bits times 256, plus its symbol; 0: no code. First the codes of up to 13 bits, by their 13
    /// bits; then the longer ones, which are the largest, by 16 bits from `firstLong` on.
    private(set) var entries: [UInt16]
    /// The smallest value of 16 bits that begins with a longer code, or with none.
    private(set) var firstLong = 1 << 16

    /// Returns nil for a table without codes, or one that libjpeg rejects: codes that do not fit, or consist only of ones.
    init?(_ code: icodec_jpeg_code, largestSymbol: UInt8 = 255) {
        let counts = withUnsafeBytes(of: code.counts) { $0.map(Int.init) }
        let count = counts.reduce(0, +)
        let symbols = withUnsafeBytes(of: code.symbols) { Array($0.prefix(count)) }
        guard count > 0, count == symbols.count, symbols.allSatisfy({ $0 <= largestSymbol }) else { return nil }
        entries = [UInt16](repeating: 0, count: 1 << Self.shortBits)
        var next = 0
        var symbol = 0
        for length in 1...16 {
            for _ in 0..<counts[length - 1] {
                let entry = UInt16(length) << 8 | UInt16(symbols[symbol])
                if length <= Self.shortBits {
                    let first = next << (Self.shortBits - length)
                    guard first < entries.count else { return nil }
                    for index in first..<first + 1 << (Self.shortBits - length) { entries[index] = entry }
                } else {
                    let first = next << (16 - length)
                    if firstLong > first {
                        firstLong = first
                        entries += [UInt16](repeating: 0, count: 1 << 16 - first)
                    }
                    for index in first..<first + 1 << (16 - length) {
                        guard index < 1 << 16 else { return nil }
                        entries[1 << Self.shortBits + index - firstLong] = entry
                    }
                }
                next += 1
                symbol += 1
            }
            guard next < 1 << length else { return nil }
            next <<= 1
        }
    }

    /// The code at the start of bits, whose first is the most significant of `prefix`.
    func entry(shortPrefix prefix: Int) -> (symbol: Int, length: Int)? {
        let entry = Int(entries[prefix])
        return entry == 0 ? nil : (entry & 255, entry >> 8)
    }
}

/// The position of a ``HuffmanCode`` among several in one array.
struct HuffmanCodeRange {
    var start: Int32 = 0
    var firstLong: Int32 = 1 << 16

    /// The index of the entry for 16 bits of input.
    @inline(__always)
    func index(_ bits: Int) -> Int {
        let firstLong = Int(firstLong)
        let place = bits < firstLong ? bits &>> 3 : 1 << HuffmanCode.shortBits &+ bits &- firstLong
        return Int(start) &+ place
    }
}
