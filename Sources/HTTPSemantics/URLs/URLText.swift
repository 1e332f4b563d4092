/// Operations on text that is or may contain a URL, valid or not, to make it safe for display.
package enum URLText {
    /// The text without the user and password that it may contain, and these.
    ///
    /// Text without a scheme may be a URL whose scheme was omitted: anything before an `@` in it becomes `***`.
    package static func separatingUserinfo(_ url: String) -> (url: String, userinfo: Substring?) {
        // Bytes are searched faster than characters, and most URLs contain none.
        guard url.utf8.contains(UInt8(ascii: "@")) else { return (url, nil) }
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else {
            return (url.lastIndex(of: "@").map { "***" + url[$0...] } ?? url, nil)
        }
        // Not just up to a `#`: a password may contain an unescaped one.
        let authority = url[url.index(colon, offsetBy: 3)...].prefix { $0 != "/" && $0 != "?" }
        guard let at = authority.lastIndex(of: "@") else { return (url, nil) }
        return (String(url[..<authority.startIndex] + url[url.index(after: at)...]), authority[..<at])
    }

    /// The URL without user, password and fragment, for display and storage.
    package static func withoutUserinfo(_ url: String) -> String {
        let url = separatingUserinfo(url).url
        return url.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(url[..<$0]) } ?? url
    }

    /// The text with the user and password of each URL in it replaced by `***`.
    package static func masked(_ text: String) -> String {
        userinfo(in: text).reversed().reduce(into: text) {
            $0.unicodeScalars.replaceSubrange($1, with: "***".unicodeScalars)
        }
    }

    /// The places of the users and passwords of the URLs in a text, each without the `@` after it.
    ///
    /// - Parameter ends: The characters before which a URL's authority ends.
    package static func userinfo(in text: String, endingAt ends: String = "/?# \t\"'<>") -> [Range<String.Index>] {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return [] }
        var found: [Range<String.Index>] = []
        // By bytes: a mark that combines with a character before it hides neither slashes nor an `@`.
        var rest = text.utf8[...]
        while let slashes = rest.firstRange(of: "//".utf8) {
            rest = rest[slashes.upperBound...]
            let authority = rest.prefix { !ends.utf8.contains($0) }
            if let at = authority.lastIndex(of: UInt8(ascii: "@")) { found.append(authority.startIndex..<at) }
        }
        return found
    }

    /// Splits text that begins like an absolute http or https URL into scheme with authority, and the rest, both as
    /// spelled; `nil` for any other text.
    package static func separatingTarget(_ url: String) -> (origin: Substring, target: Substring)? {
        guard hasWebScheme(url), let slashes = url.firstRange(of: "//") else { return nil }
        let end = url[slashes.upperBound...].firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? url.endIndex
        return (url[..<end], url[end...])
    }

    /// Returns true if a text begins like an absolute http or https URL, valid or not.
    package static func hasWebScheme(_ text: String) -> Bool {
        guard let (scheme, rest) = URLReference.scheme(of: Array(text.utf8.prefix(16))[...]) else { return false }
        return HTTPURL.Scheme(rawValue: scheme) != nil && rest.starts(with: "//".utf8)
    }
}
