public import FoundationEssentials

/// Decodes text by its charset (RFC 9110 section 8.3.2; names of the WHATWG Encoding Standard).
///
/// A byte order mark has precedence over the `charset` of the `Content-Type`. Without both, valid UTF-8 is decoded as UTF-8, and anything
/// else as windows-1252. Supported are UTF-8, UTF-16 in both byte orders, and windows-1252, which is also used for ISO-8859-1 and US-ASCII
/// as in browsers.
public enum TextDecoding {
    private enum Charset { case utf8, utf16(isBigEndian: Bool), windows1252 }

    /// Decodes bytes. Invalid sequences become U+FFFD.
    ///
    /// - Throws: ``TextDecodingError`` for an unsupported charset.
    public static func text(_ bytes: [UInt8], contentType: String?) throws(TextDecodingError) -> String {
        if let (charset, length) = byteOrderMark(bytes) { return decoded(bytes[length...], charset) }
        guard let name = contentType.flatMap(charsetName) else {
            return String(validating: bytes, as: UTF8.self) ?? decoded(bytes[...], .windows1252)
        }
        guard let charset = charset(named: name) else { throw TextDecodingError(charset: name) }
        return decoded(bytes[...], charset)
    }

    private static func byteOrderMark(_ bytes: [UInt8]) -> (Charset, Int)? {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return (.utf8, 3) }
        if bytes.starts(with: [0xFE, 0xFF]) { return (.utf16(isBigEndian: true), 2) }
        if bytes.starts(with: [0xFF, 0xFE]) { return (.utf16(isBigEndian: false), 2) }
        return nil
    }

    private static func charset(named name: String) -> Charset? {
        switch name {
        case "utf-8", "utf8": .utf8
        case "utf-16", "utf-16le": .utf16(isBigEndian: false)
        case "utf-16be": .utf16(isBigEndian: true)
        case "iso-8859-1", "iso8859-1", "latin1", "windows-1252", "cp1252", "us-ascii", "ascii": .windows1252
        default: nil
        }
    }

    /// The value of the `charset` parameter in lower case, from a token or a quoted string (RFC 9110 section 5.6.6).
    private static func charsetName(_ contentType: String) -> String? {
        var rest = contentType.utf8[...]
        guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else { return nil }
        rest = rest[end...]
        while rest.popFirst() != nil {
            let name = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
            rest = rest[name.endIndex...]
            var value: [UInt8] = []
            if rest.first == UInt8(ascii: "=") {
                rest = rest.dropFirst()
                value = parameterValue(&rest)
            }
            if lowercased(name) == "charset", !value.isEmpty { return lowercased(value) }
        }
        return nil
    }

    /// Reads a value, up to the next semicolon.
    private static func parameterValue(_ rest: inout Substring.UTF8View) -> [UInt8] {
        var value: [UInt8] = []
        if rest.first == UInt8(ascii: "\"") {
            rest = rest.dropFirst()
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
                    value.append(escaped)
                } else {
                    value.append(byte)
                }
            }
            rest = rest.drop { $0 != UInt8(ascii: ";") }
        } else {
            let text = rest.prefix { $0 != UInt8(ascii: ";") }
            rest = rest[text.endIndex...]
            value = Array(text)
        }
        return value
    }

    private static func lowercased(_ bytes: some Sequence<UInt8>) -> String {
        let visible = bytes.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return String(decoding: visible, as: UTF8.self).lowercased()
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>, _ charset: Charset) -> String {
        switch charset {
        case .utf8: return String(decoding: bytes, as: UTF8.self)
        case .utf16(let isBigEndian):
            let first = bytes.startIndex
            var units = stride(from: first, to: first + bytes.count / 2 * 2, by: 2).map { index in
                let (one, two) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
                return isBigEndian ? one << 8 | two : two << 8 | one
            }
            // Half of a code unit is invalid.
            if bytes.count % 2 == 1 { units.append(0xFFFD) }
            return String(decoding: units, as: UTF16.self)
        case .windows1252:
            return String(String.UnicodeScalarView(bytes.map { Windows1252.scalar($0) }))
        }
    }
}

/// The charset is not supported.
public struct TextDecodingError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
    /// The charset's name, in lower case.
    public let charset: String

    public init(charset: String) { self.charset = charset }

    public var description: String { "the charset \(charset) is not supported" }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}

private enum Windows1252 {
    /// The characters of 0x80 to 0x9F, which differ from ISO-8859-1 (WHATWG Encoding section 9).
    private static let upper: [UInt16] = [
        0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152, 0x8D, 0x17D,
        0x8F,
        0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0x9D, 0x17E,
        0x178,
    ]

    static func scalar(_ byte: UInt8) -> Unicode.Scalar {
        guard (0x80...0x9F).contains(byte) else { return Unicode.Scalar(byte) }
        return Unicode.Scalar(upper[Int(byte) - 0x80]) ?? "\u{FFFD}"
    }
}
