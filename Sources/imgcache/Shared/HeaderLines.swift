import ArgumentParser
import ImageCache

/// The header fields of `-H 'Name: value'`.
enum HeaderLines {
    static func fields(_ headers: [String]) -> HTTPFields {
        var fields = HTTPFields()
        for header in headers {
            guard let colon = header.firstIndex(of: ":"), let name = HTTPField.Name(String(header[..<colon])) else {
                continue
            }
            let value = header[header.index(after: colon)...].drop { $0 == " " }
            fields.append(HTTPField(name: name, value: String(value)))
        }
        return fields
    }

    static func validate(_ headers: [String]) throws {
        for header in headers where !isField(header) {
            // Only the first word is shown, so that a header without a colon does not reveal a token.
            throw ValidationError("-H must be 'Name: value', not '\(header.prefix { $0 != ":" && $0 != " " }) …'.")
        }
    }

    private static func isField(_ header: String) -> Bool {
        guard let colon = header.firstIndex(of: ":") else { return false }
        return HTTPField.Name(String(header[..<colon])) != nil
    }
}
