import FoundationEssentials

/// Reads and writes small JSON texts. The texts to read must be valid.
package enum JSONText {
    /// The text of a string; `nil` for another value, or invalid UTF-8.
    package static func string(_ json: some Collection<UInt8>) -> String? {
        guard json.first == UInt8(ascii: "\"") else { return nil }
        let inner = json.dropFirst().dropLast()
        if !inner.contains(UInt8(ascii: "\\")) { return String(validating: inner, as: UTF8.self) }
        return try? JSONDecoder().decode(String.self, from: Data(json))
    }

    /// Encodes a text as a JSON string.
    package static func encoded(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }

    /// Encodes an id of a list as JSON.
    package static func id(_ text: String, isNumeric: Bool) -> String { isNumeric ? text : encoded(text) }

    package static func isNumber(_ json: some Collection<UInt8>) -> Bool {
        json.first.map { $0 == UInt8(ascii: "-") || ($0 >= 0x30 && $0 <= 0x39) } ?? false
    }

    /// The members of an object; `nil` for another value.
    package static func members(_ json: [UInt8]) -> [(name: String, value: [UInt8])]? {
        guard json.first == UInt8(ascii: "{") else { return nil }
        var members: [(String, [UInt8])] = []
        var elements = JSONElements()
        do {
            try json.withUnsafeBytes { try elements.append($0) { members.append(($0.name ?? "", $0.value)) } }
            try elements.end()
        } catch { return nil }
        return members
    }

    /// The elements of an array; `nil` for another value.
    package static func elements(_ json: [UInt8]) -> [[UInt8]]? {
        guard json.first == UInt8(ascii: "[") else { return nil }
        var values: [[UInt8]] = []
        var elements = JSONElements()
        do {
            try json.withUnsafeBytes { try elements.append($0) { values.append($0.value) } }
            try elements.end()
        } catch { return nil }
        return values
    }
}
