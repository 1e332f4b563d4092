/// A URL taken apart as RFC 3986 section 3 says, without judging its parts.
struct URLReference: Hashable {
    var scheme: String?
    var authority: String?
    var path: String
    var query: String?

    /// The fragment is dropped: it is no part of what is asked for.
    init(_ text: String) {
        var rest = text.utf8[...]
        if let hash = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<hash] }
        if let colon = rest.firstIndex(where: {
            $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?")
        }),
            rest[colon] == UInt8(ascii: ":"), URLReference.isScheme(rest[..<colon])
        {
            scheme = String(decoding: rest[..<colon].map(\.lowercased), as: UTF8.self)
            rest = rest[rest.index(after: colon)...]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = String(decoding: rest[rest.index(after: mark)...], as: UTF8.self)
            rest = rest[..<mark]
        }
        if rest.starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")]) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[end...]
        }
        path = String(decoding: rest, as: UTF8.self)
    }

    private static func isScheme(_ bytes: Substring.UTF8View) -> Bool {
        guard let first = bytes.first, (97...122).contains(first.lowercased) else { return false }
        return bytes.allSatisfy { byte in
            (97...122).contains(byte.lowercased) || byte.isDigit || byte == 0x2B || byte == 0x2D || byte == 0x2E
        }
    }

    var text: String {
        var text = ""
        if let scheme { text += scheme + ":" }
        if let authority { text += "//" + authority }
        text += path
        if let query { text += "?" + query }
        return text
    }

    /// The absolute URL that `reference` means when it is found in a response from `base` (RFC 3986 section 5.2.2); `nil`
    /// when `base` is not absolute.
    static func resolve(_ reference: String, against base: String) -> String? {
        let base = URLReference(base)
        guard base.scheme != nil else { return nil }
        var target = URLReference(reference)
        if target.scheme != nil { return target.text }
        target.scheme = base.scheme
        if target.authority != nil { return target.text }
        target.authority = base.authority
        if target.path.isEmpty {
            target.path = base.path
            if target.query == nil { target.query = base.query }
        } else if target.path.utf8.first != UInt8(ascii: "/") {
            let bytes = base.path.utf8
            if let slash = bytes.lastIndex(of: UInt8(ascii: "/")) {
                target.path = String(decoding: bytes[...slash], as: UTF8.self) + target.path
            } else {
                target.path = "/" + target.path
            }
        }
        return target.text
    }
}
