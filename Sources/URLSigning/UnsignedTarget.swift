/// A request target without a signature.
struct UnsignedTarget<Text: StringProtocol> {
    let text: Text

    init(_ text: Text) { self.text = text }

    /// The signed text: the target with the parameters that precede the signature.
    func signedText(keyID: String, expiry: Int64?) -> String {
        let separator = text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return "\(text)\(separator)imgcache-kid=\(keyID)" + (expiry.map { "&imgcache-exp=\($0)" } ?? "")
    }

    /// True if a parameter of its query has one of the signature's names.
    var hasOwnParameters: Bool {
        guard let query = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return false }
        return text.utf8[query...].dropFirst().split(separator: UInt8(ascii: "&")).contains { parameter in
            let name = parameter.prefix { $0 != UInt8(ascii: "=") }
            return Self.ownNames.contains { name.elementsEqual($0.utf8) }
        }
    }

    private static var dotSegments: [String] { [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"] }

    private static var ownNames: [String] { ["imgcache-kid", "imgcache-exp", "imgcache-sig"] }

    /// The reason why clients would change the target on its way, in one sentence; nil if they send it byte for byte.
    ///
    /// Browsers encode some characters and remove dot segments (the URL standard's path and query states); so do
    /// proxies and libraries.
    var transitProblem: String? {
        guard text.utf8.first == UInt8(ascii: "/") else {
            return "the signed target must begin with a slash: path and query"
        }
        let path = text.utf8.prefix { $0 != UInt8(ascii: "?") }
        for byte in text.utf8 {
            if byte == UInt8(ascii: "#") { return "a fragment (#…) is never sent; leave it out" }
            guard byte > 0x20, byte < 0x7F, !"\"'<>\\^`{|}".utf8.contains(byte) else {
                return "clients percent-encode some of its characters on the way; sign it as it is sent"
            }
        }
        let isDotted = path.split(separator: UInt8(ascii: "/")).contains { segment in
            segment.count <= 6 && Self.dotSegments.contains(String(decoding: segment, as: UTF8.self).lowercased())
        }
        return isDotted ? "clients remove the segments . and .. on the way; sign it without them" : nil
    }
}

extension Substring {
    /// The last occurrence of `text`.
    func lastRange(of text: String) -> Range<Index>? {
        let wanted = Array(text.utf8)
        guard utf8.count >= wanted.count else { return nil }
        var start = utf8.index(utf8.endIndex, offsetBy: -wanted.count)
        while true {
            if utf8[start...].starts(with: wanted) { return start..<utf8.index(start, offsetBy: wanted.count) }
            guard start > utf8.startIndex else { return nil }
            utf8.formIndex(before: &start)
        }
    }
}
