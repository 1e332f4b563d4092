/// Text that may hold URLs, valid or not, made fit to be shown.
enum URLText {
    /// The URL without user, password and fragment: fit to be shown and stored.
    static func withoutUserinfo(_ url: String) -> String {
        let bytes = url.utf8
        let end = bytes.firstIndex(of: UInt8(ascii: "#"))
        guard bytes.contains(UInt8(ascii: "@")) else { return end.map { String(url[..<$0]) } ?? url }
        let plain = String(url[..<(end ?? url.endIndex)])
        guard let (scheme, authority, rest) = split(plain) else { return plain }
        return "\(scheme)://\(hostAndPort(authority))\(rest)"
    }

    /// Text that may hold URLs, with the user and password of each replaced by `***`.
    static func masked(_ text: String) -> String {
        guard text.utf8.contains(0x40) else { return text }
        let parts = text.split(separator: "//", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part in
            let authority = part.prefix { !"/?# \t\"'<>".contains($0) }
            guard index > 0, let at = authority.lastIndex(of: "@") else { return String(part) }
            return "***" + part[at...]
        }.joined(separator: "//")
    }

    // By bytes: these run for every transfer, and what they look for is ASCII. (Splitting at an ASCII byte never cuts a
    // character in two.)

    private static func hostAndPort(_ authority: Substring) -> Substring {
        let bytes = authority.utf8
        return bytes.lastIndex(of: UInt8(ascii: "@")).map { authority[bytes.index(after: $0)...] } ?? authority
    }

    private static func split(_ url: String) -> (scheme: Substring, authority: Substring, rest: Substring)? {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let start = bytes.index(colon, offsetBy: 3)
        let end = bytes[start...].firstIndex {
            $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
        }
        return (url[..<colon], url[start..<(end ?? url.endIndex)], url[(end ?? url.endIndex)...])
    }
}
