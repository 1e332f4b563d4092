/// The checksum of a window of bytes that moves over a file. Its cost for each byte does not depend on the window's length.
struct RollingChecksum {
    /// The sums, of which the low 16 bits count.
    private var a: UInt32 = 0
    private var b: UInt32 = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        var (a, b) = (UInt32(0), UInt32(0))
        for byte in bytes {
            a &+= UInt32(byte)
            b &+= a
        }
        (self.a, self.b) = (a, b)
    }

    /// Moves the window by one byte.
    ///
    /// - Parameter shift: The binary logarithm of the window's length.
    @inline(__always)
    mutating func move(removing old: UInt8, adding new: UInt8, shift: UInt32) {
        a = a &+ UInt32(new) &- UInt32(old)
        b = b &+ a &- UInt32(old) &<< shift
    }

    /// Both sums, 16 bits each.
    @inline(__always)
    var value: UInt32 { a &<< 16 | b & 0xFFFF }
}
