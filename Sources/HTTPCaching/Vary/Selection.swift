import Digests
import HTTPSemantics
public import HTTPTypes

extension CacheRules {
    /// The request's fields that `Vary` of a response, and of the redirects to it, names (RFC 9111 section 4.1): what must
    /// be kept with the response.
    public func selectingFields(
        of request: HTTPFields, for response: HTTPFields, redirects: [StoredHead] = []
    ) -> SelectingFields {
        SelectingFields(selectingNames(response, redirects), of: request)
    }

    /// A text that is equal for two requests exactly when their selecting fields match by `Vary` of this response: one
    /// variant of a URL has one of it, so that a new response replaces the stored one of its variant. `nil` for `Vary: *`.
    ///
    /// Empty without `Vary`; else the names, a line break and a SHA-256 of the values. What stands before the line break is
    /// what ``variantKey(_:of:)`` makes the key of another request from.
    public func variantKey(of request: HTTPFields, for response: HTTPFields, redirects: [StoredHead] = []) -> String? {
        let names = selectingNames(response, redirects)
        return names.contains("*") ? nil : CacheRules.variantKey(SelectingFields(names, of: request))
    }

    /// The variant's key of a stored response. `nil` for `Vary: *`, and when the value of a field that it names was not
    /// recorded.
    public func variantKey(of stored: StoredResponse) -> String? {
        var values: [SelectingFields.Value] = []
        for name in selectingNames(stored.fields, stored.redirects) {
            guard name != "*", let value = stored.selectingFields[name] else { return nil }
            values.append(value)
        }
        return CacheRules.variantKey(SelectingFields(values))
    }

    /// The key that a request's variant would have if its response varied on the same fields as the one whose key begins
    /// with `names`.
    public static func variantKey(_ names: Substring, of request: HTTPFields) -> String {
        variantKey(SelectingFields(names.split(separator: "," as Character).map { String($0) }, of: request))
    }

    /// The selecting fields as they are, for comparison in memory: it may hold credentials and is not to be stored. `nil` for
    /// `Vary: *`, empty without `Vary`.
    public func selectingText(of request: HTTPFields, for response: HTTPFields) -> String? {
        let names = selectingNames(response, [])
        if names.contains("*") { return nil }
        return names.sorted().reduce(into: "") { text, name in
            text += "\(name)="
            if let value = VaryValue.normalized(name, in: request) { text += "\(value.utf8.count):\(value)" }
            text += "\n"
        }
    }

    private static func variantKey(_ selecting: SelectingFields) -> String {
        if selecting.values.isEmpty { return "" }
        let text = selecting.values.map { $0.name + ($0.digest.map { "=" + $0.hexadecimal } ?? "") }
        return selecting.values.map(\.name).joined(separator: ",") + "\n"
            + ShortSHA256.digest(of: Array(text.joined(separator: "\n").utf8)).hexadecimal
    }

    /// Those that `Vary` names and those of ``alwaysVaryingNames``.
    func selectingNames(_ response: HTTPFields, _ redirects: [StoredHead]) -> Set<String> {
        CacheRules.namesInVary(response, redirects).union(alwaysVaryingNames)
    }

    /// The names in lower case, and `*`. What is no field name names nothing.
    static func namesInVary(_ response: HTTPFields, _ redirects: [StoredHead]) -> Set<String> {
        var names: Set<String> = []
        for fields in [response] + redirects.map(\.fields) {
            fields.forEachMember(of: "vary") { member in
                if member.allSatisfy(\.isTokenCharacter) { names.insert(member.lowercasedString) }
            }
        }
        return names
    }

    /// Whether the selecting fields of a stored response match the request's (RFC 9111 section 4.1).
    public func isSelected(_ stored: StoredResponse, by request: HTTPFields) -> Bool {
        guard CacheRules.matchesVary(of: stored.fields, stored.selectingFields, request),
            alwaysVaryingNames.allSatisfy({ stored.selectingFields.matches($0, in: request) })
        else { return false }
        for hop in stored.redirects {
            // A redirect that varies on anything is bounded by freshness: it is asked for again each time.
            if !CacheRules.matchesVary(of: hop.fields, stored.selectingFields, request, starMatches: true) {
                return false
            }
        }
        return true
    }

    private static func matchesVary(
        of fields: HTTPFields, _ selecting: SelectingFields, _ request: HTTPFields, starMatches: Bool = false
    ) -> Bool {
        var matches = true
        fields.forEachMember(of: "vary") { member in
            guard matches, member.allSatisfy(\.isTokenCharacter) else { return }
            let name = member.lowercasedString
            matches = name == "*" ? starMatches : selecting.matches(name, in: request)
        }
        return matches
    }
}
