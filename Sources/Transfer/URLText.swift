/// Plain text work on absolute URLs that libcurl has already parsed and put together again.
enum URLText {
    /// Scheme, host and port in lower case, the default port left out: equal for equal origins (RFC 6454).
    static func origin(of url: String) -> String {
        guard let parts = split(url) else { return url }
        var host = hostAndPort(parts.authority).lowercased()
        let scheme = parts.scheme.lowercased()
        if scheme == "http", host.hasSuffix(":80") { host.removeLast(3) }
        if scheme == "https", host.hasSuffix(":443") { host.removeLast(4) }
        return "\(scheme)://\(host)"
    }

    /// The URL without user, password and fragment: fit to be shown and stored.
    static func withoutUserinfo(_ url: String) -> String {
        let plain = url.prefix { $0 != "#" }
        guard plain.utf8.contains(0x40), let (scheme, authority, rest) = split(String(plain)) else {
            return String(plain)
        }
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

    private static func hostAndPort(_ authority: Substring) -> Substring {
        authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    }

    private static func split(_ url: String) -> (scheme: Substring, authority: Substring, rest: Substring)? {
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else { return nil }
        let start = url.index(colon, offsetBy: 3)
        let end = url[start...].firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? url.endIndex
        return (url[..<colon], url[start..<end], url[end...])
    }
}
