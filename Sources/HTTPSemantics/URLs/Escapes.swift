/// Percent-encoding (RFC 3986 section 2.1).
struct Escapes {
    let strayPercents: URLParser.StrayPercents

    /// The spelling as it is given; what a URL cannot hold is escaped.
    func kept(_ bytes: ArraySlice<UInt8>) throws(InvalidURL) -> [UInt8] { try rewritten(bytes, normalizes: false) }

    /// What need not be escaped is not, the other escapes are in upper case, and what a URL cannot hold is escaped.
    func normalized(_ bytes: ArraySlice<UInt8>) throws(InvalidURL) -> [UInt8] { try rewritten(bytes, normalizes: true) }

    private func rewritten(_ bytes: ArraySlice<UInt8>, normalizes: Bool) throws(InvalidURL) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "%") {
                guard let decoded = Self.decoded(bytes[index...]) else {
                    guard strayPercents == .escaped else { throw InvalidURL(.percent) }
                    Self.append(byte, to: &result)
                    continue
                }
                if !normalizes {
                    result += bytes[(index - 1)..<(index + 2)]
                } else if decoded.isUnreserved {
                    result.append(decoded)
                } else {
                    Self.append(decoded, to: &result)
                }
                index += 2
            } else if byte <= 0x20 || byte >= 0x7F {
                Self.append(byte, to: &result)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    /// The byte that two hexadecimal digits at the beginning stand for.
    static func decoded(_ digits: ArraySlice<UInt8>) -> UInt8? {
        guard digits.count >= 2, let high = digits[digits.startIndex].hexadecimalValue,
            let low = digits[digits.startIndex + 1].hexadecimalValue
        else { return nil }
        return high << 4 | low
    }

    private static func append(_ byte: UInt8, to result: inout [UInt8]) {
        let digits: StaticString = "0123456789ABCDEF"
        digits.withUTF8Buffer { digits in
            result.append(UInt8(ascii: "%"))
            result.append(digits[Int(byte >> 4)])
            result.append(digits[Int(byte & 15)])
        }
    }
}

extension HTTPURL {
    /// A part of a URL with all its escapes decoded, once.
    public static func decoded(_ part: some StringProtocol) -> String {
        String(decoding: decodedBytes(part), as: UTF8.self)
    }

    static func decodedBytes(_ part: some StringProtocol) -> [UInt8] {
        var rest = Array(part.utf8)[...]
        var result: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let decoded = Escapes.decoded(rest) {
                result.append(decoded)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}

extension UInt8 {
    var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }

    /// RFC 3986 section 2.3.
    var isUnreserved: Bool { isLetter || isDigit || self == 0x2D || self == 0x2E || self == 0x5F || self == 0x7E }

    var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}
