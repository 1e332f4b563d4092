package import HTTPTypes

/// A link in a `Link` field (RFC 8288).
package struct WebLink: Sendable, Hashable {
    /// The target as sent, which may be relative to the URL of the response.
    package var target: String
    /// The parameters in the order in which they were sent, with names in lower case and values without quotes.
    package var parameters: [Parameter]

    package struct Parameter: Sendable, Hashable {
        package var name: String
        package var value: String
    }

    /// The relations in lower case.
    package var relations: [Substring] {
        parameters.filter { $0.name == "rel" }.flatMap { $0.value.lowercased().split { $0 == " " || $0 == "\t" } }
    }

    /// The media type of the target in lower case, if the link has one.
    package var type: String? { self["type"]?.lowercased() }

    /// The first parameter of a name.
    package subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The links of a response. A member that is not a link is skipped.
    package static func all(in fields: HTTPFields) -> [WebLink] {
        fields[values: .known("Link")].flatMap { members(of: $0).compactMap { WebLink($0) } }
    }

    /// Splits a field value at its commas, except for those in a target or a quoted string.
    private static func members(of value: String) -> [Substring] {
        var members: [Substring] = []
        var start = value.startIndex
        /// The character that ends the present target or quoted string.
        var end: Character?
        for (index, character) in zip(value.indices, value) {
            if let awaited = end {
                if character == awaited { end = nil }
            } else if character == "<" || character == "\"" {
                end = character == "<" ? ">" : character
            } else if character == "," {
                members.append(value[start..<index])
                start = value.index(after: index)
            }
        }
        members.append(value[start...])
        return members.map { $0.drop { $0 == " " || $0 == "\t" } }
    }

    private init?(_ text: Substring) {
        guard text.first == "<", let end = text.firstIndex(of: ">") else { return nil }
        target = String(text[text.index(after: text.startIndex)..<end])
        parameters = text[text.index(after: end)...].split(separator: ";").compactMap { parameter in
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            let name = parts[0].filter { $0 != " " && $0 != "\t" }.lowercased()
            let value = parts[1].drop { $0 == " " || $0 == "\t" || $0 == "\"" }
            guard let last = value.lastIndex(where: { $0 != " " && $0 != "\t" && $0 != "\"" }) else { return nil }
            return Parameter(name: name, value: String(value[...last]))
        }
    }
}
