package import HTTPTypes

/// An entity tag (RFC 9110 section 8.8.3).
public struct EntityTag: Sendable, Hashable {
    /// The text between the quotes, byte for byte. A tag that is not UTF-8 is treated as absent.
    public let opaque: String
    /// True if the tag is marked `W/`.
    public let isWeak: Bool

    /// Parses a tag; `nil` if `text` is not exactly one.
    public init?(_ text: String) {
        var text = text
        guard let tag = text.withUTF8({ EntityTag($0[...]) }) else { return nil }
        self = tag
    }

    public init(opaque: String, isWeak: Bool) {
        self.opaque = opaque
        self.isWeak = isWeak
    }

    /// Parses a field's value. A value that is not UTF-8 is invalid, even if its text resembles one.
    package init?(_ field: HTTPField) {
        guard let tag = field.withUnsafeBytesOfValue({ EntityTag($0[...]) }) else { return nil }
        self = tag
    }

    init?(_ bytes: ByteSlice) {
        var bytes = bytes.trimmed
        let isWeak =
            bytes.count > 2 && bytes[bytes.startIndex] == UInt8(ascii: "W")
            && bytes[bytes.startIndex + 1] == UInt8(ascii: "/")
        if isWeak { bytes = bytes.dropFirst(2) }
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return nil }
        let opaque = bytes.dropFirst().dropLast()
        // etagc: no quote, no space, no control character.
        guard opaque.allSatisfy({ $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7F) }) else { return nil }
        guard let text = String(validating: opaque, as: UTF8.self) else { return nil }
        self.opaque = text
        self.isWeak = isWeak
    }

    public static func == (one: EntityTag, other: EntityTag) -> Bool {
        one.isWeak == other.isWeak && one.matchesWeakly(other)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(isWeak)
        for byte in opaque.utf8 { hasher.combine(byte) }
    }

    /// Returns true if both denote the same representation byte for byte: neither is weak (RFC 9110 section 8.8.3.2).
    public func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && matchesWeakly(other)
    }

    /// Returns true if both denote equivalent representations, weak or not (RFC 9110 section 8.8.3.2).
    public func matchesWeakly(_ other: EntityTag) -> Bool {
        // Compares bytes: equality of strings would ignore different spellings of one character.
        opaque.utf8.elementsEqual(other.opaque.utf8)
    }

    /// The tag in field syntax.
    public var text: String { isWeak ? "W/\"\(opaque)\"" : "\"\(opaque)\"" }
}
