package import ImageCache

/// The hosts of originals in addition to the origin: `images.example.com`, `images.example.com:8443`, `*.example.com` (all subdomains, but
/// not the domain), `[2001:db8::1]`. Without a port, the scheme's default applies.
package struct AllowedHosts: Sendable {
    package typealias Endpoint = AddressPolicy.Endpoint

    private struct Pattern: Sendable {
        /// In lower case; `.example.com` for `*.example.com`.
        var host: String
        var port: Int?
        var isSuffix: Bool
    }

    private let patterns: [Pattern]

    package init(_ texts: [String]) {
        patterns = texts.map { text in
            let text = text.lowercased()
            let isSuffix = text.hasPrefix("*.")
            let rest = isSuffix ? text.dropFirst() : text[...]
            let (host, port) = Self.split(rest)
            return Pattern(host: String(host), port: port, isSuffix: isSuffix)
        }
    }

    var isEmpty: Bool { patterns.isEmpty }

    /// Returns true if a host is listed by its own name, not only as a subdomain.
    func names(_ endpoint: Endpoint) -> Bool { contains(endpoint) { !$0.isSuffix } }

    func contains(_ endpoint: Endpoint) -> Bool { contains(endpoint) { _ in true } }

    private func contains(_ endpoint: Endpoint, by isMeant: (Pattern) -> Bool) -> Bool {
        patterns.contains { pattern in
            guard isMeant(pattern) else { return false }
            let isPort = pattern.port.map { $0 == endpoint.port } ?? (endpoint.port == 80 || endpoint.port == 443)
            guard isPort else { return false }
            guard pattern.isSuffix else { return endpoint.host == pattern.host }
            return endpoint.host.hasSuffix(pattern.host) && endpoint.host.utf8.count > pattern.host.utf8.count
        }
    }

    private static func split(_ text: Substring) -> (host: Substring, port: Int?) {
        guard let colon = text.lastIndex(of: ":"), !text.hasSuffix("]"),
            let port = Int(text[text.index(after: colon)...])
        else { return (text, nil) }
        return (text[..<colon], port)
    }
}

extension AddressPolicy.Endpoint {
    /// Parses the authority of a URL: a name or an address, and a port. Rejects ambiguous forms: a user, percent-encoding, or a port
    /// without digits.
    package init?(authority: some StringProtocol, scheme: String) {
        var text = authority.lowercased()[...]
        var port = scheme == "https" ? 443 : 80
        if let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") {
            let digits = text[text.index(after: colon)...]
            guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = UInt16(digits), number > 0
            else { return nil }
            port = Int(number)
            text = text[..<colon]
        }
        let isAddress = text.hasPrefix("[") && text.hasSuffix("]")
        let name = isAddress ? text.dropFirst().dropLast() : text
        let isProper = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."): true
            case UInt8(ascii: "-"), UInt8(ascii: "_"): !isAddress
            case UInt8(ascii: ":"): isAddress
            default: false
            }
        }
        // A name with a trailing dot would be a second spelling of the same name.
        guard !name.isEmpty, isProper, name.utf8.last != UInt8(ascii: ".") else { return nil }
        self.init(host: String(text), port: port)
    }
}
