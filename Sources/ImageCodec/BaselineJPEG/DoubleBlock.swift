/// The coefficients of a block that becomes two by two samples, and the inverse transform that libjpeg has for it
/// (jidctred.c): of rows and columns it takes 0, 1, 3, 5 and 7.
struct DoubleBlock {
    /// Five by five coefficients, times their steps, and a place for those that are not needed.
    private var coefficients = InlineArray<32, Int32>(repeating: 0)
    /// Bits are set beyond the 12 of an image's coefficients when one of them is too large, or negative.
    private var range: Int32 = 0
    /// Zero while there is only the first coefficient.
    private var others: Int32 = 0

    /// The place of each coefficient, in the order of the file.
    static let places: [Int32] = {
        let needed: [Int32?] = [0, 1, nil, 2, nil, 3, nil, 4]
        return order.map { index in
            guard let row = needed[index >> 3], let column = needed[index & 7] else { return unneeded }
            return row * 5 + column
        }
    }()
    private static let unneeded: Int32 = 25

    /// The order of the file (ITU-T T.81, figure A.6): rows times 8, plus columns.
    private static let order: [Int] = (0...14).flatMap { diagonal in
        let rows = (0...diagonal).filter { $0 < 8 && diagonal - $0 < 8 }
        return (diagonal.isMultiple(of: 2) ? rows.reversed() : rows).map { $0 * 8 + diagonal - $0 }
    }

    @inline(__always)
    init(first: Int) {
        coefficients[0] = Int32(truncatingIfNeeded: first)
        range = coefficients[0] &+ 2048
    }

    /// Sets a coefficient.
    ///
    /// - Parameter quantizer: The step times 256, plus the place.
    @inline(__always)
    mutating func set(_ value: Int32, _ quantizer: Int32) {
        let value = value &* (quantizer &>> 8)
        coefficients[Int(quantizer & 31)] = value
        range |= value &+ 2048
        others |= value
    }

    /// The samples of the first and of the second row; nil for coefficients that no image of 8 bits has. With them
    /// libjpeg's results depend on the processor.
    @inline(__always)
    func samples() -> (UInt8, UInt8, UInt8, UInt8)? {
        guard range & ~4095 == 0 else { return nil }
        if others == 0 {
            let sample = Self.sample(coefficients[0])
            return (sample, sample, sample, sample)
        }
        let (a, b, c, d, e) = (column(0), column(1), column(2), column(3), column(4))
        let (first, second) = Self.row(a.0, Self.odd(b.0, c.0, d.0, e.0))
        let (third, fourth) = Self.row(a.1, Self.odd(b.1, c.1, d.1, e.1))
        guard ((first &+ 512) | (second &+ 512) | (third &+ 512) | (fourth &+ 512)) & ~1023 == 0 else { return nil }
        return (Self.limited(first), Self.limited(second), Self.limited(third), Self.limited(fourth))
    }

    /// The sample of a block that has only the first coefficient, times its step.
    @inline(__always)
    static func sample(_ first: Int32) -> UInt8 { limited((first &+ 4) &>> 3) }

    @inline(__always)
    private static func limited(_ value: Int32) -> UInt8 {
        UInt8(truncatingIfNeeded: min(max(value &+ 128, 0), 255))
    }

    // Numbers with 13 bits behind the point; two bits more are kept between the passes.

    @inline(__always)
    private static func odd(_ first: Int32, _ third: Int32, _ fifth: Int32, _ seventh: Int32) -> Int32 {
        first &* 29692 &- third &* 10426 &+ fifth &* 6967 &- seventh &* 5906
    }

    @inline(__always)
    private func column(_ index: Int) -> (Int32, Int32) {
        let even = coefficients[index] &<< 15
        let odd = Self.odd(
            coefficients[5 &+ index], coefficients[10 &+ index], coefficients[15 &+ index], coefficients[20 &+ index])
        return ((even &+ odd &+ 1 &<< 12) &>> 13, (even &- odd &+ 1 &<< 12) &>> 13)
    }

    @inline(__always)
    private static func row(_ first: Int32, _ odd: Int32) -> (Int32, Int32) {
        let even = first &<< 15
        return ((even &+ odd &+ 1 &<< 19) &>> 20, (even &- odd &+ 1 &<< 19) &>> 20)
    }
}
