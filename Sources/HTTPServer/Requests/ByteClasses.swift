/// A set of bytes allowed in a part of a message (RFC 9110 section 5.6, RFC 9112 section 3). Membership of the first
/// 128 bytes is stored in two words, so a test is a shift; bytes from 0x80 up are never members.
package struct ByteClass: Sendable {
    private let low: UInt64
    private let high: UInt64

    private init(_ members: some Sequence<UInt8>) {
        var low: UInt64 = 0
        var high: UInt64 = 0
        for byte in members {
            if byte < 64 { low |= 1 << UInt64(byte) } else if byte < 128 { high |= 1 << UInt64(byte - 64) }
        }
        self.low = low
        self.high = high
    }

    @inline(__always)
    package func contains(_ byte: UInt8) -> Bool {
        byte < 64 ? low >> UInt64(byte) & 1 == 1 : byte < 128 && high >> UInt64(byte - 64) & 1 == 1
    }

    private static let alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

    /// `tchar`: methods, field names, the words in Connection.
    package static let token = ByteClass((alphanumeric + "!#$%&'*+-.^_`|~").utf8)
    /// The bytes of a request target: printable ASCII except for `#`, `<`, `>` and `"`. RFC 3986 allows fewer; browsers
    /// send `|` and similar ones, which are unambiguous.
    package static let target = ByteClass((0x21...0x7E).filter { !Array("#<>\"".utf8).contains($0) })
    /// The bytes of a host name's label; underscores occur in names that resolve although they are not host names.
    static let hostName = ByteClass((alphanumeric + "-_").utf8)
}

extension UInt8 {
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let colon = UInt8(ascii: ":")

    /// True if the byte may occur in a field's value (RFC 9110 section 5.5): no control character except for the tab.
    @inline(__always)
    var isFieldContent: Bool { self >= 0x20 && self != 0x7F || self == .tab }

    /// The value of a decimal digit.
    package var digitValue: Int? { self >= 0x30 && self <= 0x39 ? Int(self) - 0x30 : nil }
}

extension Span<UInt8> {
    /// The bytes of a range as text; invalid UTF-8 becomes replacement characters.
    func text(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
