/// A URL reference, absolute or relative (RFC 3986 section 4.1).
struct URLReference {
    private let bytes: ArraySlice<UInt8>

    /// Drops the fragment, which is never sent.
    init(_ text: String) {
        bytes = Array(text.utf8)[...].prefix { $0 != UInt8(ascii: "#") }
    }

    /// The text of the target URL in a response from `base` (RFC 3986 section 5.2.2); it may be invalid.
    func resolved(against base: HTTPURL) -> String {
        if Self.scheme(of: bytes) != nil { return text(bytes) }
        if bytes.starts(with: "//".utf8) { return base.scheme.rawValue + ":" + text(bytes) }
        switch bytes.first {
        case nil: return base.text
        case UInt8(ascii: "/"): return base.origin + text(bytes)
        case UInt8(ascii: "?"): return base.origin + base.target.prefix { $0 != "?" } + text(bytes)
        default:
            let path = base.target.utf8.prefix { $0 != UInt8(ascii: "?") }
            let folder = path.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? path
            return base.origin + String(Substring(folder)) + text(bytes)
        }
    }

    private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// The scheme in lower case (RFC 3986 section 3.1), and what follows its colon.
    static func scheme(of bytes: ArraySlice<UInt8>) -> (name: String, rest: ArraySlice<UInt8>)? {
        let name = bytes.prefix { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard name.endIndex < bytes.endIndex, bytes[name.endIndex] == UInt8(ascii: ":"), name.first?.isLetter == true,
            name.allSatisfy({ $0.isLetter || $0.isDigit || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E })
        else { return nil }
        return (String(decoding: name.map(\.lowercased), as: UTF8.self), bytes[(name.endIndex + 1)...])
    }
}
