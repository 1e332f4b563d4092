/// An entity tag (RFC 9110 section 8.8.3).
public struct EntityTag: Sendable, Hashable {
    /// What stands between the quotes, byte for byte. A tag that is not UTF-8 is taken for none.
    public let opaque: String
    /// Whether it is marked `W/`.
    public let isWeak: Bool

    /// The tag that `text` is, or `nil` when it is not exactly one.
    public init?(_ text: String) {
        var text = text
        guard let tag = text.withUTF8({ EntityTag($0[...]) }) else { return nil }
        self = tag
    }

    public init(opaque: String, isWeak: Bool) {
        self.opaque = opaque
        self.isWeak = isWeak
    }

    init?(_ bytes: ByteSlice) {
        var bytes = bytes.trimmed
        let isWeak =
            bytes.count > 2 && bytes[bytes.startIndex] == UInt8(ascii: "W")
            && bytes[bytes.startIndex + 1] == UInt8(ascii: "/")
        if isWeak { bytes = bytes.dropFirst(2) }
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return nil }
        let opaque = bytes.dropFirst().dropLast()
        // etagc: no quote, no space, no control.
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

    /// Whether both denote the same representation byte for byte: neither is weak (RFC 9110 section 8.8.3.2).
    public func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && matchesWeakly(other)
    }

    /// Whether both denote equivalent representations: weak or not (RFC 9110 section 8.8.3.2).
    public func matchesWeakly(_ other: EntityTag) -> Bool {
        // Byte by byte: equality of strings would take different spellings of one character for the same.
        opaque.utf8.elementsEqual(other.opaque.utf8)
    }

    /// The tag as a field writes it.
    public var text: String { isWeak ? "W/\"\(opaque)\"" : "\"\(opaque)\"" }
}

/// The value of `If-None-Match` or `If-Match` (RFC 9110 sections 13.1.1 and 13.1.2).
package enum EntityTagCondition {
    /// `*`: any current representation.
    case any
    case tags([EntityTag])

    /// The members of all lines; what is no entity tag is left out. Commas may stand inside tags, so this is not a list of
    /// quoted strings: a backslash escapes nothing in a tag.
    package init(lines: [String]) {
        var tags: [EntityTag] = []
        var isAny = false
        for line in lines {
            var line = line
            line.withUTF8 { bytes in
                if bytes[...].trimmed.elementsEqual([UInt8(ascii: "*")]) { isAny = true }
                var index = 0
                while index < bytes.count {
                    // One member: up to the comma that follows its closing quote.
                    let start = index
                    while index < bytes.count, bytes[index] != UInt8(ascii: ","), bytes[index] != UInt8(ascii: "\"") {
                        index += 1
                    }
                    if index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
                        index += 1
                        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") { index += 1 }
                        index += 1
                        while index < bytes.count, bytes[index] != UInt8(ascii: ",") { index += 1 }
                    }
                    if let tag = EntityTag(bytes[start..<min(index, bytes.count)]) { tags.append(tag) }
                    index += 1
                }
            }
        }
        self = isAny ? .any : .tags(tags)
    }
}
