import HTTPSemantics
import HTTPTypes

/// The value of a request field for the comparison by `Vary`.
enum VaryValue {
    /// All lines of the field joined, normalised as RFC 9111 section 4.1 allows if the field's syntax is known; `nil`
    /// if the field is absent, which matches only an absent one.
    static func normalized(_ name: String, in fields: HTTPFields) -> String? {
        var lines: [String] = []
        for field in fields where field.name.isNamed(name) {
            lines.append(field.withUnsafeBytesOfValue { text($0) })
        }
        guard !lines.isEmpty else { return nil }
        switch name {
        case "accept", "accept-encoding", "accept-charset":
            // Lists whose order is insignificant.
            return members(fields, name).map(\.text).sorted().joined(separator: ",")
        case "accept-language":
            // Sorted by weight; some recipients treat the order of equal ones as a preference: RFC 9110 section 12.5.4.
            return members(fields, name).enumerated()
                .sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }
                .map(\.element.text).joined(separator: ",")
        default:
            return lines.count == 1 ? lines[0] : lines.joined(separator: ", ")
        }
    }

    /// A text that is equal for equal bytes only: bytes that are not UTF-8 are read as Latin-1.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = "\u{FFFD}"
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }

    private static func members(_ fields: HTTPFields, _ name: String) -> [WeightedMember] {
        var members: [WeightedMember] = []
        fields.forEachMember(of: name) { members.append(WeightedMember($0, isMediaRange: name == "accept")) }
        return members
    }
}

/// A member of `Accept` and similar fields, without insignificant differences: whitespace, the letter case of names,
/// the form of the weight.
private struct WeightedMember {
    /// In thousandths (RFC 9110 section 12.4.2).
    var weight = 1000
    var text: String

    /// - Parameter isMediaRange: True if the values of parameters keep their letter case.
    init(_ member: ByteSlice, isMediaRange: Bool) {
        var parts: [[UInt8]] = [[]]
        var isQuoted = false
        for byte in member {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if !isQuoted, byte.isWhitespace { continue }
            if !isQuoted, byte == UInt8(ascii: ";") {
                parts.append([])
            } else {
                let isValue = isMediaRange && parts.count > 1 && parts[parts.count - 1].contains(UInt8(ascii: "="))
                parts[parts.count - 1].append(isQuoted || isValue ? byte : byte.lowercased)
            }
        }
        text = ""
        for (index, part) in parts.enumerated() {
            if index > 0, weight == 1000, let number = Self.weight(part) {
                weight = number
                if number == 1000 { continue }
                text += ";\u{0}\(number)"
            } else {
                text += (index > 0 ? ";" : "") + VaryValue.text(part)
            }
        }
    }

    /// Parses `q=0.8` and the like; `nil` for another parameter.
    private static func weight(_ part: [UInt8]) -> Int? {
        guard part.starts(with: "q=".utf8), let whole = part.dropFirst(2).first, whole == 0x30 || whole == 0x31 else {
            return nil
        }
        let rest = part.dropFirst(3)
        guard rest.isEmpty || rest.first == UInt8(ascii: "."), rest.count <= 4 else { return nil }
        let digits = rest.dropFirst()
        guard digits.allSatisfy(\.isDigit), whole == 0x30 || digits.allSatisfy({ $0 == 0x30 }) else { return nil }
        let thousandths = (digits + [0x30, 0x30, 0x30]).prefix(3).reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return whole == 0x31 ? 1000 : thousandths
    }
}
