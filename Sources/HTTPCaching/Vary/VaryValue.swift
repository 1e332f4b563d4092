import HTTPTypes

/// The value of a request field for the purpose of `Vary`.
enum VaryValue {
    /// All lines of the field joined, normalised as RFC 9111 section 4.1 allows where the field's syntax is known; `nil` when
    /// the field is absent, which matches only an absent one.
    static func normalized(_ name: String, in fields: HTTPFields) -> String? {
        var lines: [String] = []
        for field in fields where field.name.isCalled(name) {
            lines.append(field.withUnsafeBytesOfValue { text($0) })
        }
        guard !lines.isEmpty else { return nil }
        switch name {
        case "accept", "accept-encoding", "accept-charset":
            // Lists whose order says nothing; names without regard to case.
            return members(fields, name, lowercased: name != "accept").sorted().joined(separator: ",")
        case "accept-language":
            // Some recipients take the order for a preference: RFC 9110 section 12.5.4.
            return members(fields, name, lowercased: true).joined(separator: ",")
        default:
            return lines.count == 1 ? lines[0] : lines.joined(separator: ", ")
        }
    }

    /// A text that is equal for equal bytes only: what is no UTF-8 is read as Latin-1.
    private static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = "\u{FFFD}"
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }

    private static func members(_ fields: HTTPFields, _ name: String, lowercased: Bool) -> [String] {
        var members: [String] = []
        fields.forEachMember(of: name) { member in
            var isQuoted = false
            var bytes: [UInt8] = []
            for byte in member {
                if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                // Whitespace around ";" and "," means nothing.
                if !isQuoted, byte.isWhitespace { continue }
                bytes.append(lowercased && !isQuoted ? byte.lowercased : byte)
            }
            members.append(text(bytes))
        }
        return members
    }
}
