/// MD4 (RFC 1320), by which zsync recognises blocks. It proves nothing against an attacker.
enum MD4 {
    static let byteCount = 16

    /// The digest of bytes as four words, whose bytes in little-endian order are the digest.
    static func digest(_ bytes: UnsafeRawBufferPointer) -> SIMD4<UInt32> {
        var state = SIMD4<UInt32>(0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476)
        let whole = bytes.count / 64 * 64
        for offset in stride(from: 0, to: whole, by: 64) {
            add(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + 64]), to: &state)
        }
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { last in
            last.initializeMemory(as: UInt8.self, repeating: 0)
            let rest = bytes.count - whole
            last.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[whole...]))
            last[rest] = 0x80
            let end = rest < 56 ? 64 : 128
            last.storeBytes(of: (UInt64(bytes.count) * 8).littleEndian, toByteOffset: end - 8, as: UInt64.self)
            for offset in stride(from: 0, to: end, by: 64) {
                add(UnsafeRawBufferPointer(rebasing: last[offset..<offset + 64]), to: &state)
            }
        }
        return state
    }

    @inline(__always)
    private static func rotate(_ value: UInt32, _ count: UInt32) -> UInt32 {
        value &<< count | value &>> (32 &- count)
    }

    private static func add(_ block: UnsafeRawBufferPointer, to state: inout SIMD4<UInt32>) {
        @inline(__always) func word(_ index: Int) -> UInt32 {
            UInt32(littleEndian: block.loadUnaligned(fromByteOffset: index &* 4, as: UInt32.self))
        }
        var (a, b, c, d) = (state.x, state.y, state.z, state.w)
        for first in stride(from: 0, to: 16, by: 4) {
            a = rotate(a &+ (b & c | ~b & d) &+ word(first), 3)
            d = rotate(d &+ (a & b | ~a & c) &+ word(first &+ 1), 7)
            c = rotate(c &+ (d & a | ~d & b) &+ word(first &+ 2), 11)
            b = rotate(b &+ (c & d | ~c & a) &+ word(first &+ 3), 19)
        }
        for first in 0..<4 {
            a = rotate(a &+ (b & c | b & d | c & d) &+ word(first) &+ 0x5A82_7999, 3)
            d = rotate(d &+ (a & b | a & c | b & c) &+ word(first &+ 4) &+ 0x5A82_7999, 5)
            c = rotate(c &+ (d & a | d & b | a & b) &+ word(first &+ 8) &+ 0x5A82_7999, 9)
            b = rotate(b &+ (c & d | c & a | d & a) &+ word(first &+ 12) &+ 0x5A82_7999, 13)
        }
        for first in [0, 2, 1, 3] {
            a = rotate(a &+ (b ^ c ^ d) &+ word(first) &+ 0x6ED9_EBA1, 3)
            d = rotate(d &+ (a ^ b ^ c) &+ word(first &+ 8) &+ 0x6ED9_EBA1, 9)
            c = rotate(c &+ (d ^ a ^ b) &+ word(first &+ 4) &+ 0x6ED9_EBA1, 11)
            b = rotate(b &+ (c ^ d ^ a) &+ word(first &+ 12) &+ 0x6ED9_EBA1, 15)
        }
        state = SIMD4(state.x &+ a, state.y &+ b, state.z &+ c, state.w &+ d)
    }
}
