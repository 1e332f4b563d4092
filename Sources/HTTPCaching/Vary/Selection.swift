import Digests
import HTTPSemantics
public import HTTPTypes

extension CacheRules {
    /// The request's fields that `Vary` of a response, and of the redirects to it, names (RFC 9111 section 4.1): they
    /// must be stored with the response.
    public func selectingFields(
        of request: HTTPFields, for response: HTTPFields, redirects: [StoredHead] = []
    ) -> SelectingFields {
        SelectingFields(selectingNames(response, redirects), of: request)
    }

    /// A text that is equal for two requests exactly if their selecting fields match by `Vary` of this response: it
    /// identifies one variant of a URL, so that a new response replaces the stored one of its variant. `nil` for `Vary:
    /// *`.
    ///
    /// Empty without `Vary`; otherwise the names, a line break and a SHA-256 of the values. The part before the line
    /// break is the input of ``variantKey(_:of:)`` for other requests.
    public func variantKey(of request: HTTPFields, for response: HTTPFields, redirects: [StoredHead] = []) -> String? {
        let names = selectingNames(response, redirects)
        return names.contains("*") ? nil : CacheRules.variantKey(SelectingFields(names, of: request))
    }

    /// The variant key of a stored response. `nil` for `Vary: *`, and if the value of a named field was not recorded.
    public func variantKey(of stored: StoredResponse) -> String? {
        var values: [SelectingFields.Value] = []
        for name in selectingNames(stored.fields, stored.redirects) {
            guard name != "*", let value = stored.selectingFields[name] else { return nil }
            values.append(value)
        }
        return CacheRules.variantKey(SelectingFields(values))
    }

    /// The key of a request's variant, assuming that its response varies on the same fields as the one whose key begins
    /// with `names`.
    public static func variantKey(_ names: Substring, of request: HTTPFields) -> String {
        variantKey(SelectingFields(names.split(separator: "," as Character).map { String($0) }, of: request))
    }

    /// The selecting fields as plain text, for comparison in memory: may contain credentials and must not be stored.
    /// `nil` for `Vary: *`, empty without `Vary`.
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

    /// The names of the fields on whose values the choice of a response depends, in lower case: for comparing requests
    /// without looking at their meaning.
    package func selectingNames(of response: HTTPFields) -> Set<String> { selectingNames(response, []) }

    /// The names in `Vary`, and ``alwaysVaryingNames``.
    func selectingNames(_ response: HTTPFields, _ redirects: [StoredHead]) -> Set<String> {
        CacheRules.namesInVary(response, redirects).union(alwaysVaryingNames)
    }

    /// The most members of `Vary` that are compared. A response that names more counts as one with `*`: no client sends so many fields, and the
    /// values of all would be kept and compared for each request.
    static let mostVaryMembers = 100

    /// The names in lower case, and `*`; only `*` if there are more than ``mostVaryMembers``. Anything but a field name is ignored.
    static func namesInVary(_ response: HTTPFields, _ redirects: [StoredHead]) -> Set<String> {
        var names: Set<String> = []
        var count = 0
        for fields in [response] + redirects.map(\.fields) {
            fields.forEachMember(of: "vary") { member in
                count += 1
                if count <= mostVaryMembers, member.allSatisfy(\.isTokenCharacter) {
                    names.insert(member.lowercasedString)
                }
            }
        }
        return count > mostVaryMembers ? ["*"] : names
    }

    /// Returns true if the selecting fields of a stored response match the request's (RFC 9111 section 4.1).
    public func isSelected(_ stored: StoredResponse, by request: HTTPFields) -> Bool {
        guard CacheRules.matchesVary(of: stored.fields, stored.selectingFields, request),
            alwaysVaryingNames.allSatisfy({ stored.selectingFields.matches($0, in: request) })
        else { return false }
        for hop in stored.redirects {
            // A redirect that varies on everything is bounded by freshness: it is validated each time.
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
        var count = 0
        fields.forEachMember(of: "vary") { member in
            count += 1
            guard matches, count <= mostVaryMembers, member.allSatisfy(\.isTokenCharacter) else { return }
            let name = member.lowercasedString
            matches = name == "*" ? starMatches : selecting.matches(name, in: request)
        }
        return count > mostVaryMembers ? starMatches : matches
    }
}
