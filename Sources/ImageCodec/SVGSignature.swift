/// The beginning of an SVG: a document whose first element is `svg`, of any namespace prefix.
///
/// Read as XML's prolog (XML 1.0 section 2.8), in UTF-8 or a code that agrees with it in ASCII: a byte order mark, a declaration, comments,
/// processing instructions and a document type may stand before it. Where the start of the file ends within them, a document type of `svg`
/// decides.
struct SVGSignature {
    private var rest: ArraySlice<UInt8>

    static func matches(_ start: [UInt8]) -> Bool {
        var reader = SVGSignature(rest: start[...])
        return reader.read()
    }

    private mutating func read() -> Bool {
        _ = skip("\u{FEFF}")
        while true {
            rest = rest.drop(while: Self.isSpace)
            if skip("<?") {
                guard skip(past: "?>") else { return false }
            } else if skip("<!--") {
                guard skip(past: "-->") else { return false }
            } else if skip("<!DOCTYPE") {
                guard rest.first.map(Self.isSpace) == true else { return false }
                rest = rest.drop(while: Self.isSpace)
                return localName == "svg"
            } else {
                return skip("<") && localName == "svg"
            }
        }
    }

    /// The name at this position without its prefix, or nil if there is none or it does not end.
    private var localName: Substring? {
        let name = rest.prefix { !Self.isSpace($0) && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") }
        guard name.endIndex < rest.endIndex, name.count <= 64 else { return nil }
        let text = String(decoding: name, as: UTF8.self)
        return text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).last
    }

    private mutating func skip(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    /// Skips all to the end of a text. False if it is not there.
    private mutating func skip(past text: String) -> Bool {
        while !rest.isEmpty {
            if skip(text) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    /// XML 1.0 section 2.3.
    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n")
            || byte == UInt8(ascii: "\r")
    }
}
