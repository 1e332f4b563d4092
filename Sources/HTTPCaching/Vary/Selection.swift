import FoundationEssentials
public import HTTPTypes

extension CacheRules {
    /// The request's fields that `Vary` of a response, and of the redirects to it, names (RFC 9111 section 4.1): what must
    /// be kept with the response.
    public func selectingFields(
        of request: HTTPFields, for response: HTTPFields, redirects: [StoredHead] = []
    ) -> HTTPFields {
        let names = CacheRules.namesInVary(response, redirects)
        var result = HTTPFields()
        if names.isEmpty { return result }
        for field in request where names.contains(field.name.canonicalName) { result.append(field) }
        return result
    }

    /// A text that is equal for two requests exactly when their selecting fields match by `Vary` of this response: one
    /// variant of a URL has one of it, so that a new response replaces the stored one of its variant. `nil` for `Vary: *`.
    public func variantKey(of request: HTTPFields, for response: HTTPFields, redirects: [StoredHead] = []) -> String? {
        let names = CacheRules.namesInVary(response, redirects)
        if names.contains("*") { return nil }
        var key = ""
        for name in names.sorted() {
            key += "\(name)="
            if let value = VaryValue.normalized(name, in: request) { key += "\(value.utf8.count):\(value)" }
            key += "\n"
        }
        return key
    }

    private static func namesInVary(_ response: HTTPFields, _ redirects: [StoredHead]) -> Set<String> {
        var names: Set<String> = []
        for fields in [response] + redirects.map(\.fields) {
            fields.forEachMember(of: "vary") { names.insert($0.lowercasedString) }
        }
        return names
    }

    /// Whether the selecting fields of a stored response match the request (RFC 9111 section 4.1).
    func matchesVary(_ stored: StoredResponse, _ request: CacheRequest) -> Bool {
        guard CacheRules.matchesVary(of: stored.fields, stored: stored.requestFields, presented: request.fields) else {
            return false
        }
        for hop in stored.redirects {
            // A redirect that varies on anything is bounded by freshness: it is asked for again each time.
            if !CacheRules.matchesVary(
                of: hop.fields, stored: stored.requestFields, presented: request.fields, starMatches: true)
            {
                return false
            }
        }
        return true
    }

    private static func matchesVary(
        of fields: HTTPFields, stored: HTTPFields, presented: HTTPFields, starMatches: Bool = false
    ) -> Bool {
        var matches = true
        fields.forEachMember(of: "vary") { member in
            guard matches else { return }
            let name = member.lowercasedString
            if name == "*" {
                matches = starMatches
            } else {
                matches = VaryValue.matches(name, stored, presented)
            }
        }
        return matches
    }
}

/// The value of a request field for the purpose of `Vary`.
enum VaryValue {
    /// Whether the field matches in both; what is the same byte for byte need not be normalised.
    static func matches(_ name: String, _ stored: HTTPFields, _ presented: HTTPFields) -> Bool {
        let (one, isOneSingle) = single(name, stored)
        let (other, isOtherSingle) = single(name, presented)
        guard let one, let other else { return one == nil && other == nil }
        if isOneSingle, isOtherSingle, one.utf8.elementsEqual(other.utf8) { return true }
        guard let one = normalized(name, in: stored), let other = normalized(name, in: presented) else { return false }
        // Equality of strings would take different bytes of one character for the same.
        return one.utf8.elementsEqual(other.utf8)
    }

    private static func single(_ name: String, _ fields: HTTPFields) -> (value: String?, isSingle: Bool) {
        var value: String?
        for field in fields where field.name.isCalled(name) {
            if value != nil { return (value, false) }
            value = field.withUnsafeBytesOfValue { text($0) }
        }
        return (value, true)
    }

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
