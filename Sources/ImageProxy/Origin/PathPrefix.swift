import HTTPSemantics

/// A path prefix in whole segments: `/shop/` is a prefix of `/shop/a`, but not of `/shopping`.
package struct PathPrefix: Sendable, Hashable {
    /// The prefix of all paths.
    package static let root = PathPrefix(text: "/")

    /// Begins and ends with a slash.
    package let text: String

    private init(text: String) { self.text = text }

    /// - Parameter text: A path that begins and ends with a slash. The result is nil for any other text, and for a path with a query, dot
    ///   segments or empty segments.
    package init?(_ text: some StringProtocol) {
        let path = String(text)
        guard path.hasPrefix("/"), path.hasSuffix("/"), !path.contains("//"), !path.contains("?"), !path.contains("#"),
            !DotSegments.occur(in: path[...].utf8), let normalized = Self.normalized(path)
        else { return nil }
        self.text = normalized
    }

    /// Normalises the percent-encoding of a path and its query (RFC 3986 section 6.2.2). Returns `nil` if the target is invalid.
    static func normalized(_ target: String) -> String? {
        guard target.utf8.contains(UInt8(ascii: "%")) else { return target }
        let host = "http://x"
        return (try? HTTPURL(host + target)).map { String($0.normalized.utf8.dropFirst(host.utf8.count)) ?? target }
    }

    /// Returns true if a normalised path begins with this prefix.
    func contains(_ path: some StringProtocol) -> Bool { path.utf8.starts(with: text.utf8) }

    /// The part of a path and its query after the prefix, with a leading slash. `nil` if the path does not begin with the prefix, or is
    /// invalid.
    func rest(of target: String) -> String? {
        if text.utf8.count == 1 { return target }
        guard let target = Self.normalized(target), contains(target) else { return nil }
        return String(target.utf8.dropFirst(text.utf8.count - 1))
    }
}
