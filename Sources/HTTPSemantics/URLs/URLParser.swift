/// Parses a URL by RFC 3986 section 3, and builds both spellings of its target.
struct URLParser {
    /// The handling of a `%` that is not followed by two hexadecimal digits.
    enum StrayPercents {
        case refused
        /// Replaced by `%25`, so that it can never combine with the following characters.
        case escaped
    }

    let scheme: HTTPURL.Scheme
    let userinfo: String?
    let host: String
    /// `nil` for the scheme's default.
    let port: Int?
    /// Path and query as sent.
    let target: String
    let normalizedTarget: String

    init(_ string: String, strayPercents: StrayPercents) throws(InvalidURL) {
        var rest = Array(string.utf8)[...]
        guard rest.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw InvalidURL(.controlCharacter) }
        rest = rest.prefix { $0 != UInt8(ascii: "#") }
        scheme = try Self.takeScheme(&rest)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        rest = rest[authority.endIndex...]
        (userinfo, host, port) = try Self.authority(authority, scheme)
        let path = rest.prefix { $0 != UInt8(ascii: "?") }
        let query: ArraySlice<UInt8>? = path.endIndex < rest.endIndex ? rest[(path.endIndex + 1)...] : nil
        let escapes = Escapes(strayPercents: strayPercents)
        let sent = path.isEmpty ? [UInt8(ascii: "/")] : DotSegments.removed(from: path)
        var target = try escapes.kept(sent[...])
        var normalized = try escapes.normalized(sent[...])
        if let query {
            target += try [UInt8(ascii: "?")] + escapes.kept(query)
            normalized += try [UInt8(ascii: "?")] + escapes.normalized(query)
        }
        self.target = String(decoding: target, as: UTF8.self)
        normalizedTarget = String(decoding: normalized, as: UTF8.self)
    }

    private static func takeScheme(_ rest: inout ArraySlice<UInt8>) throws(InvalidURL) -> HTTPURL.Scheme {
        guard let (name, afterColon) = URLReference.scheme(of: rest) else { throw InvalidURL(.notAbsolute) }
        guard let scheme = HTTPURL.Scheme(rawValue: name) else { throw InvalidURL(.scheme(name)) }
        guard afterColon.starts(with: "//".utf8) else { throw InvalidURL(.notAbsolute) }
        rest = afterColon.dropFirst(2)
        return scheme
    }

    private static func authority(
        _ bytes: ArraySlice<UInt8>, _ scheme: HTTPURL.Scheme
    ) throws(InvalidURL) -> (userinfo: String?, host: String, port: Int?) {
        // Browsers read a backslash as a slash, other parsers do not: the host would be ambiguous.
        guard !bytes.contains(UInt8(ascii: "\\")) else { throw InvalidURL(.host) }
        var host = bytes
        var userinfo: String?
        if let at = host.lastIndex(of: UInt8(ascii: "@")) {
            let text = String(decoding: try Escapes(strayPercents: .refused).normalized(host[..<at]), as: UTF8.self)
            guard PercentEncoding.decoded(text.utf8).allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw InvalidURL(.controlCharacter)
            }
            userinfo = text
            host = host[(at + 1)...]
        }
        var port: Int?
        let bracket = host.lastIndex(of: UInt8(ascii: "]")) ?? host.startIndex
        guard host.first != UInt8(ascii: "[") || bracket > host.startIndex else { throw InvalidURL(.host) }
        if let colon = host[bracket...].firstIndex(of: UInt8(ascii: ":")) {
            port = try Self.port(host[(colon + 1)...])
            host = host[..<colon]
        }
        return (userinfo, try HostName.normalized(host), port == scheme.defaultPort ? nil : port)
    }

    /// Leading zeros are ignored; an empty port equals none.
    private static func port(_ digits: ArraySlice<UInt8>) throws(InvalidURL) -> Int? {
        guard !digits.isEmpty else { return nil }
        guard digits.allSatisfy(\.isDigit), let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0 else {
            throw InvalidURL(.port)
        }
        return Int(port)
    }
}
