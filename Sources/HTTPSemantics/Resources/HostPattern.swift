/// A host, or all hosts below one: `cdn.example.com`, `*.example.com` (everything below, not itself).
public struct HostPattern: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The pattern, in lower case.
    public let text: String

    public init(_ text: String) { self.text = text.lowercased() }

    public init(stringLiteral text: String) { self.init(text) }

    /// Returns true if the pattern includes a host, as `HTTPURL.host` spells it.
    public func matches(_ host: String) -> Bool {
        guard text.hasPrefix("*.") else { return host == text }
        let suffix = text.dropFirst()
        return host.utf8.count > suffix.utf8.count && host.hasSuffix(suffix)
    }
}

/// A name in which `*` matches any text, including the empty one.
package struct NamePattern: Sendable, Hashable {
    private static let wildcard = UInt8(ascii: "*")

    private let parts: [[UInt8]]

    static func isPattern(_ text: String) -> Bool { text.utf8.contains(wildcard) }

    package init(_ text: String) {
        parts = text.utf8.split(separator: Self.wildcard, omittingEmptySubsequences: false).map { Array($0) }
    }

    package func matches(_ name: String) -> Bool {
        guard let first = parts.first, let last = parts.last, parts.count > 1 else {
            return parts.first.map { Array(name.utf8) == $0 } ?? false
        }
        var rest = Array(name.utf8)[...]
        guard rest.count >= first.count + last.count, rest.starts(with: first),
            rest.suffix(last.count).elementsEqual(last)
        else { return false }
        rest = rest.dropFirst(first.count).dropLast(last.count)
        // The leftmost place of each part leaves the most for those after it.
        for part in parts.dropFirst().dropLast() {
            guard let start = Self.firstPlace(of: part, in: rest) else { return false }
            rest = rest[(start + part.count)...]
        }
        return true
    }

    private static func firstPlace(of part: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        guard text.count >= part.count else { return nil }
        return (text.startIndex...text.endIndex - part.count).first { text[$0...].starts(with: part) }
    }
}
