extension UInt8 {
    @inlinable package var isDigit: Bool { self >= 48 && self <= 57 }

    package var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }

    @inlinable package var lowercased: UInt8 { self >= 65 && self <= 90 ? self | 0x20 : self }

    /// Optional whitespace (RFC 9110 section 5.6.3).
    @inlinable package var isWhitespace: Bool { self == 0x20 || self == 0x09 }

    /// `tchar` of RFC 9110 section 5.6.2.
    @inlinable package var isTokenCharacter: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x5E...0x7A, 0x7C, 0x7E: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E: true
        default: false
        }
    }

    /// `unreserved` of RFC 3986 section 2.3.
    package var isUnreserved: Bool {
        isLetter || isDigit || self == 0x2D || self == 0x2E || self == 0x5F || self == 0x7E
    }

    /// The value of a hexadecimal digit.
    @inlinable package var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}
