import HTTPSemantics

/// A parsed image target: `/image/OPTIONS/PATH?QUERY` or `/image/OPTIONS/https://HOST/PATH?QUERY`.
struct ImageTarget: Equatable {
    enum Original: Equatable {
        /// Path and query at the origin, with a leading slash.
        case path(String)
        /// A URL on another host or on the origin's.
        case url(String, AllowedHosts.Endpoint)
        /// A URL with another scheme than http and https, or with a missing or ambiguous host.
        case invalidURL
    }

    var options: Substring
    var original: Original

    /// - Parameters:
    ///   - target: The part after `/image/`.
    ///   - prefix: The beginning of the path that selects the origin.
    init(_ target: Substring, below prefix: PathPrefix = .root) throws(ImageOptionError) {
        let bytes = target.utf8
        guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")), slash > bytes.startIndex,
            bytes.index(after: slash) < bytes.endIndex,
            bytes[..<slash].allSatisfy({ $0 != UInt8(ascii: "?") })
        else {
            throw ImageOptionError(
                code: "bad-target", message: "An image's URL is /image/OPTIONS/PATH, such as /image/w=256/a.jpg.")
        }
        options = target[..<slash]
        let rest = target[slash...]
        let path = rest.utf8.prefix { $0 != UInt8(ascii: "?") }
        guard !DotSegments.occur(in: path) else {
            throw ImageOptionError(code: "bad-target", message: "A path must not contain the segments . and ..")
        }
        guard let below = prefix.rest(of: String(rest)) else {
            throw ImageOptionError(code: "bad-target", message: "The path cannot be interpreted.")
        }
        original = Self.absolute(below.dropFirst()) ?? .path(below)
    }

    /// Parses a URL. Proxies and browsers may have merged its two slashes into one.
    private static func absolute(_ text: Substring) -> Original? {
        let scheme = text.utf8.prefix(while: isInScheme)
        // If no slash follows the colon, it is a path.
        guard !scheme.isEmpty, text.utf8[scheme.endIndex...].starts(with: ":/".utf8) else { return nil }
        let name = Substring(scheme).lowercased()
        guard name == "https" || name == "http" else { return .invalidURL }
        var rest = text.utf8[scheme.endIndex...].dropFirst(2)
        if rest.first == UInt8(ascii: "/") { rest = rest.dropFirst() }
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard let endpoint = AllowedHosts.Endpoint(authority: Substring(authority), scheme: name) else {
            return .invalidURL
        }
        let tail = Substring(rest[authority.endIndex...])
        return .url("\(name)://\(Substring(authority).lowercased())\(tail.hasPrefix("/") ? "" : "/")\(tail)", endpoint)
    }

    /// RFC 3986 section 3.1.
    private static func isInScheme(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
