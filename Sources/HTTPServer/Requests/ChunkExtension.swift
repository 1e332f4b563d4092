/// Validates the part after a chunk's size byte by byte: `*( ";" token [ "=" ( token / quoted-string ) ] )` (RFC 9112
/// section 7.1.1), without the optional white space.
struct ChunkExtension {
    private enum Place {
        case end, nameStart, name, valueStart, value, quoted, escaped
    }

    private var place = Place.end

    /// True if the extension may end here.
    var isWhole: Bool { place == .end || place == .name || place == .value }

    /// Returns false if the byte is not allowed here.
    mutating func takes(_ byte: UInt8) -> Bool {
        switch place {
        case .end:
            guard byte == UInt8(ascii: ";") else { return false }
            place = .nameStart
        case .nameStart, .name:
            if ByteClass.token.contains(byte) {
                place = .name
            } else if place == .name, byte == UInt8(ascii: "=") {
                place = .valueStart
            } else {
                return place == .name && startsAnother(byte)
            }
        case .valueStart where byte == UInt8(ascii: "\""): place = .quoted
        case .valueStart, .value:
            if ByteClass.token.contains(byte) {
                place = .value
            } else {
                return place == .value && startsAnother(byte)
            }
        case .quoted:
            if byte == UInt8(ascii: "\"") { place = .end } else if byte == UInt8(ascii: "\\") { place = .escaped }
            return byte.isFieldContent
        case .escaped:
            place = .quoted
            return byte.isFieldContent
        }
        return true
    }

    private mutating func startsAnother(_ byte: UInt8) -> Bool {
        place = .nameStart
        return byte == UInt8(ascii: ";")
    }
}
