/// Tables that decode the coefficients needed for 1/8 of the size, several symbols at a time. The index is the next bits of the input. If a
/// table cannot decode them, the ``HuffmanCode`` does.
enum CoefficientTables {
    /// The number of bits that index ``skips(_:)``.
    static let skipBits = 13
    /// The most bits that an entry of ``skips(_:)`` consumes: three of them are consumed between two refills.
    static let mostSkipped = 18
    /// The number of bits that index ``values(_:)``.
    static let valueBits = 11
    /// The number of bits that index ``differences(_:)``.
    static let differenceBits = 11
    /// The advance of an end of block: more than a block has coefficients.
    static let end = 128
    /// The advance of an entry that decodes nothing.
    static let nothing = 255

    /// Skipped coefficients. The low 6 bits are the number of bits, the others the number of coefficients, plus ``end`` at the end of a
    /// block. The bits of the last value itself may lie beyond the index.
    static func skips(_ code: HuffmanCode) -> [UInt16] {
        (0..<1 << skipBits).map { prefix in
            var used = 0
            var advance = 0
            while used < skipBits, let (symbol, length) = code.entry(shortPrefix: prefix << used & (1 << skipBits - 1))
            {
                let (run, size) = (symbol >> 4, symbol & 15)
                guard used + length <= skipBits, used + length + size <= mostSkipped else { break }
                if size == 0, run != 15 {
                    used += length
                    advance += end
                    break
                }
                guard advance + run + 1 < 64 else { break }
                used += length + size
                advance += run + 1
            }
            return UInt16((used == 0 ? nothing : advance) << 6 | used)
        }
    }

    /// One coefficient: the low 8 bits are the number of bits, the next 8 the advance as in ``skips(_:)``, the others
    /// its value.
    static func values(_ code: HuffmanCode) -> [Int32] {
        (0..<1 << valueBits).map { prefix in
            let nothing = Int32(nothing) << 8
            guard let (symbol, length) = code.entry(shortPrefix: prefix << (HuffmanCode.shortBits - valueBits)) else {
                return nothing
            }
            let (run, size) = (symbol >> 4, symbol & 15)
            guard length + size <= valueBits else { return nothing }
            if size == 0 { return Int32((run == 15 ? 16 : end) << 8 | length) }
            let bits = prefix >> (valueBits - length - size) & (1 << size - 1)
            return Int32(value(bits, size: size)) << 16 | Int32((run + 1) << 8 | length + size)
        }
    }

    /// A difference between the first coefficients of two blocks. The low 5 bits are the number of bits, or 0 if the table has no entry;
    /// the others are the difference.
    static func differences(_ code: HuffmanCode) -> [UInt16] {
        (0..<1 << differenceBits).map { prefix in
            let short = prefix << (HuffmanCode.shortBits - differenceBits)
            guard let (size, length) = code.entry(shortPrefix: short), length + size <= differenceBits else { return 0 }
            let bits = prefix >> (differenceBits - length - size) & (1 << size - 1)
            return UInt16(truncatingIfNeeded: value(bits, size: size) << 5 | length + size)
        }
    }

    /// The value that `size` bits encode (ITU-T T.81, F.2.2.1).
    @inline(__always)
    static func value(_ bits: Int, size: Int) -> Int {
        size == 0 || bits &>> (size &- 1) != 0 ? bits : bits &- (1 &<< size) &+ 1
    }
}
