/// Percent-encoding (RFC 3986 section 2.1).
public enum PercentEncoding {
    /// The bytes of a text, percent-decoded once. A `%` that is not followed by two hexadecimal digits is kept.
    @inlinable
    public static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
        var rest = Array(text)[...]
        var result: [UInt8] = []
        result.reserveCapacity(rest.count)
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let decoded = Self.byte(rest) {
                result.append(decoded)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    /// The bytes of a text with its escapes decoded, once; `nil` when a `%` is not followed by two hexadecimal digits.
    @inlinable
    public static func strictlyDecoded(_ text: some Collection<UInt8>) -> [UInt8]? {
        var rest = Array(text)[...]
        var result: [UInt8] = []
        result.reserveCapacity(rest.count)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard let decoded = Self.byte(rest) else { return nil }
            result.append(decoded)
            rest = rest.dropFirst(2)
        }
        return result
    }

    /// The byte denoted by the two hexadecimal digits at the beginning.
    @usableFromInline
    static func byte(_ digits: ArraySlice<UInt8>) -> UInt8? {
        guard digits.count >= 2, let high = digits[digits.startIndex].hexadecimalValue,
            let low = digits[digits.startIndex + 1].hexadecimalValue
        else { return nil }
        return high << 4 | low
    }

    /// Appends `%XX`, with digits in upper case (RFC 3986 section 2.1).
    package static func append(_ byte: UInt8, to result: inout [UInt8]) {
        let digits: StaticString = "0123456789ABCDEF"
        digits.withUTF8Buffer { digits in
            result.append(UInt8(ascii: "%"))
            result.append(digits[Int(byte >> 4)])
            result.append(digits[Int(byte & 15)])
        }
    }

    /// Encodes a text as a URL component: all but unreserved characters are escaped (RFC 3986 section 2.3).
    package static func encodedComponent(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: result.append(byte)
            default: append(byte, to: &result)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
