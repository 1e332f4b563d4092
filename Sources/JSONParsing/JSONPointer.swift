import TextIdentity

/// A location in a JSON value (RFC 6901), such as `/image/url`.
public struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    private let tokens: [ByteText]

    /// - Returns: `nil` for a text that is not a JSON pointer.
    public init?(_ text: String) {
        guard text.isEmpty || text.utf8.first == UInt8(ascii: "/") else { return nil }
        var tokens: [ByteText] = []
        for part in text.pathParts.dropFirst() {
            guard let token = Self.unescaped(part) else { return nil }
            tokens.append(token.asBytes)
        }
        self.tokens = tokens
    }

    private static func unescaped(_ part: Substring) -> String? {
        var token = String.UnicodeScalarView()
        var rest = part.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "~" else {
                token.append(scalar)
                continue
            }
            switch rest.popFirst() {
            case "0": token.append("~")
            case "1": token.append("/")
            default: return nil
            }
        }
        return String(token)
    }

    public var description: String {
        tokens.map { token in
            "/"
                + token.wrappedValue.unicodeScalars.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined()
        }.joined()
    }

    /// The bytes of the value at the location; `nil` if there is none.
    public func value(in json: [UInt8]) -> [UInt8]? {
        var value = json
        for token in tokens {
            if let members = JSONText.members(value) {
                // If several members have one name, the last one counts, as in most parsers.
                guard let member = members.last(where: { $0.name.asBytes == token }) else { return nil }
                value = member.value
            } else if let elements = JSONText.elements(value), let index = Self.index(token.wrappedValue),
                index < elements.count
            {
                value = elements[index]
            } else {
                return nil
            }
        }
        return value
    }

    /// Parses an array index: digits without leading zeros.
    private static func index(_ token: String) -> Int? {
        guard token == "0" || !token.hasPrefix("0"), token.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return nil
        }
        return Int(token)
    }
}
