/// A reader of the bits of entropy-coded data: the buffered bits, and the position after them.
///
/// A value that is passed and returned, so that it stays in registers.
struct EntropyBits {
    /// The next bits, from the most significant one on.
    var buffer: UInt64 = 0
    /// The number of bits in the buffer; negative after damage.
    var count = 0
    /// The position in the data of the byte after those in the buffer.
    var position = 0
    /// The number of trailing bits in the buffer that replace data after a marker.
    var padding = 0

    init(position: Int) { self.position = position }

    var isDamaged: Bool { count < 0 }
    /// Bits before the next marker that are in the buffer; negative when more were consumed than there are.
    var left: Int { count - padding }

    /// The next `number` bits, 1 … 16.
    @inline(__always)
    func next(_ number: Int) -> Int {
        Int(truncatingIfNeeded: buffer &>> UInt64(truncatingIfNeeded: 64 &- number))
    }

    @inline(__always)
    mutating func drop(_ number: Int) {
        buffer &<<= UInt64(truncatingIfNeeded: number)
        count &-= number
    }

    /// Fills the buffer with at least 56 bits. There must be 8 bytes at the position, and 2 after a byte that is 0xFF.
    @inline(__always)
    mutating func refill(_ bytes: RawSpan) {
        let word = UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
        // Without a byte 0xFF, the data contain no stuffing.
        if (~word &- 0x0101_0101_0101_0101) & word & 0x8080_8080_8080_8080 == 0 {
            buffer |= word &>> UInt64(truncatingIfNeeded: count)
            position &+= (63 &- count) &>> 3
            count |= 56
        } else {
            self = refilled(bytes)
        }
    }

    /// Fills the buffer byte by byte: 0xFF is followed by 0, or starts a marker.
    @inline(never)
    private func refilled(_ bytes: RawSpan) -> EntropyBits {
        var bits = self
        while bits.count < 56 {
            let byte = bytes.unsafeLoad(fromByteOffset: bits.position, as: UInt8.self)
            if byte == 0xFF {
                if bytes.unsafeLoad(fromByteOffset: bits.position &+ 1, as: UInt8.self) != 0 {
                    bits.padding &+= 8
                    bits.count &+= 8
                    continue
                }
                bits.position &+= 1
            }
            bits.position &+= 1
            bits.buffer |= UInt64(byte) &<< UInt64(truncatingIfNeeded: 56 &- bits.count)
            bits.count &+= 8
        }
        return bits
    }

    /// True if a marker follows the bits that were consumed, of which the last byte may have some left.
    func isBefore(marker: UInt8, in bytes: RawSpan) -> Bool {
        (0..<8).contains(left) && bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self) == 0xFF
            && bytes.unsafeLoad(fromByteOffset: position + 1, as: UInt8.self) == marker
    }

    /// Skips the zero bytes that some cameras write after the last block. Returns these bits unchanged if other bytes follow the block.
    func passingZeros(_ bytes: RawSpan) -> EntropyBits {
        let (part, whole) = (left & 7, left & ~7)
        guard (8..<64).contains(left), (buffer << UInt64(part)) >> UInt64(64 - whole) == 0 else { return self }
        var bits = EntropyBits(position: position)
        while bits.position < bytes.byteCount, bytes.unsafeLoad(fromByteOffset: bits.position, as: UInt8.self) == 0 {
            bits.position += 1
        }
        return bits.position + 1 < bytes.byteCount ? bits : self
    }
}

extension EntropyBits {
    private static func damaged(_ bits: EntropyBits) -> EntropyBits {
        var bits = bits
        bits.count = -1
        return bits
    }

    /// Decodes a difference that is not in ``CoefficientTables/differences(_:)``.
    @inline(never)
    func difference(_ codes: Span<UInt16>, _ range: HuffmanCodeRange) -> (EntropyBits, Int) {
        var bits = self
        let entry = Int(codes[range.index(next(16))])
        let size = entry & 255
        // Pixels of 8 bits have no larger ones.
        guard entry != 0, size <= 11 else { return (Self.damaged(bits), 0) }
        bits.drop(entry &>> 8)
        if size == 0 { return (bits, 0) }
        let value = CoefficientTables.value(bits.next(size), size: size)
        bits.drop(size)
        return (bits, value)
    }

    /// Decodes one coefficient, and its place after those before it; 64 after the last one or the end of the block, which
    /// has the value 0.
    @inline(never)
    func coefficient(
        _ bytes: RawSpan, _ codes: Span<UInt16>, _ range: HuffmanCodeRange, after place: Int
    ) -> (EntropyBits, place: Int, value: Int) {
        var bits = self
        bits.refill(bytes)
        let entry = Int(codes[range.index(bits.next(16))])
        let run = (entry & 255) &>> 4
        let size = entry & 15
        if entry == 0 { return (Self.damaged(bits), 64, 0) }
        bits.drop(entry &>> 8)
        if size == 0, run != 15 { return (bits, 64, 0) }
        let place = place &+ run &+ 1
        if place > 64 { return (Self.damaged(bits), 64, 0) }
        if size == 0 { return (bits, place, 0) }
        let value = CoefficientTables.value(bits.next(size), size: size)
        bits.drop(size)
        return (bits, place, value)
    }
}
