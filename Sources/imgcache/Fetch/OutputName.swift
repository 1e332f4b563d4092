import HTTPSemantics

/// The file name of a download with `-d`/`-O`: the server's suggestion (RFC 6266), otherwise the last segment of the URL.
///
/// The result is always a single, harmless path component: no separators, no leading dot or dash, no control or hidden characters, valid
/// UTF-8, at most 200 bytes.
enum OutputName {
    static func suggested(contentDisposition: String?, url: String) -> String {
        if let contentDisposition, let name = ContentDisposition.fileName(in: contentDisposition) {
            let safe = sanitised(name)
            if !safe.isEmpty { return safe }
        }
        return of(file: lastSegment(of: url))
    }

    /// The name of a file by its path, made harmless.
    static func of(file path: String) -> String {
        let safe = sanitised(path)
        return safe.isEmpty ? "download" : safe
    }

    /// Reduces `name` to a harmless path component. The result may be empty.
    static func sanitised(_ name: String) -> String {
        // Both separators are removed, because suggestions such as `..\..\x` come from Windows servers.
        // They are found by scalars, so that a separator before a combining mark also counts.
        let last =
            name.unicodeScalars.split(omittingEmptySubsequences: true) { $0 == "/" || $0 == "\\" }.last
            ?? "".unicodeScalars[...]
        let kept = last.filter { !$0.isHidden }
        let trimmed = String(String.UnicodeScalarView(kept.drop { $0 == "." || $0 == "-" || $0 == " " }))
        var result = ""
        for character in trimmed where result.utf8.count + character.utf8.count <= 200 { result.append(character) }
        while let end = result.unicodeScalars.last, end == " " || end == "." { result.unicodeScalars.removeLast() }
        return result
    }

    /// The last segment of a URL's path, decoded.
    private static func lastSegment(of url: String) -> String {
        let segment = (try? HTTPURL(url))?.target.prefix { $0 != "?" }.split(separator: "/").last ?? ""
        return PercentEncoding.decoded(segment.utf8).text ?? String(segment)
    }
}

/// The `filename` and `filename*` parameters of a Content-Disposition field (RFC 6266 section 4.3, RFC 8187).
enum ContentDisposition {
    static func fileName(in field: String) -> String? {
        var plain: String?
        var rest = Substring(field)
        // The disposition type is ignored: "inline" may have a file name too.
        guard let start = rest.firstIndex(of: ";") else { return nil }
        rest = rest[start...]
        while let (name, value) = nextParameter(&rest) {
            switch name.lowercased() {
            case "filename*":
                if let decoded = extendedValue(value) { return decoded }
            case "filename":
                plain = plain ?? value
            default: break
            }
        }
        return plain
    }

    private static func nextParameter(_ rest: inout Substring) -> (name: String, value: String)? {
        rest = rest.drop { $0 == ";" || $0 == " " || $0 == "\t" }
        guard let equals = rest.firstIndex(of: "=") else { return nil }
        var name = rest[..<equals]
        while name.last == " " || name.last == "\t" { name.removeLast() }
        rest = rest[rest.index(after: equals)...].drop { $0 == " " || $0 == "\t" }
        guard rest.first == "\"" else {
            let token = rest.prefix { $0 != ";" }
            rest = rest[token.endIndex...]
            var value = String(token)
            while value.last == " " || value.last == "\t" { value.removeLast() }
            return (String(name), value)
        }
        rest.removeFirst()
        var value = ""
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let escaped = rest.popFirst() {
                value.append(escaped)
            } else {
                value.append(character)
            }
        }
        return (String(name), value)
    }

    /// `UTF-8'en'%e2%82%ac.png` (RFC 8187 section 3.2); only the character set UTF-8 is supported.
    private static func extendedValue(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        return PercentEncoding.decoded(parts[2].utf8).text
    }
}

extension [UInt8] {
    /// `nil` if the bytes are not UTF-8.
    fileprivate var text: String? { String(validating: self, as: UTF8.self) }
}
