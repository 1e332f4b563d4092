/// The signatures of BMP and ICO, of which the first bytes alone would match texts and other data.
enum RasterSignature {
    /// True if the bytes behind "BM" are the headers of a BMP: lengths, planes and bits that one can have.
    static func isBMP(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 26, let start = number(bytes, 10, 4), let length = number(bytes, 14, 4),
            [12, 40, 52, 56, 64, 108, 124].contains(length), start >= 14 + length
        else { return false }
        let planes = length == 12 ? 22 : 26
        guard number(bytes, planes, 2) == 1, let bits = number(bytes, planes + 2, 2) else { return false }
        // An embedded JPEG or PNG has none.
        return [0, 1, 2, 4, 8, 16, 24, 32].contains(bits)
    }

    /// True if the bytes begin with a list of icons or cursors whose first entry points behind the list.
    static func isICO(_ bytes: [UInt8]) -> Bool {
        // .NET writes 255 as the reserved byte.
        guard bytes.count >= 22, bytes.starts(with: [0, 0, 1, 0]) || bytes.starts(with: [0, 0, 2, 0]),
            bytes[9] == 0 || bytes[9] == 255,
            let count = number(bytes, 4, 2), count > 0, let length = number(bytes, 14, 4), length > 0,
            let start = number(bytes, 18, 4), start >= 6 + 16 * count
        else { return false }
        let isCursor = bytes[2] == 2
        guard let planes = number(bytes, 10, 2), let bits = number(bytes, 12, 2) else { return false }
        // The same bytes of a cursor are the place that it points with.
        return isCursor || planes <= 1 && [0, 1, 4, 8, 16, 24, 32].contains(bits)
    }

    private static func number(_ bytes: [UInt8], _ offset: Int, _ length: Int) -> Int? {
        guard offset + length <= bytes.count else { return nil }
        return bytes[offset..<offset + length].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
