/// The tokens of a comma-separated list (RFC 9110 section 5.6.1), empty ones omitted. Quotation marks have no meaning
/// in it: an unclosed one cannot hide the members that others append.
package struct ListedTokens: Sequence, IteratorProtocol {
    private var rest: Substring.UTF8View

    package init(_ value: String) { rest = Substring(value).utf8 }

    package mutating func next() -> Substring? {
        while !rest.isEmpty {
            let word = rest.prefix { $0 != UInt8(ascii: ",") }
            rest = rest.dropFirst(word.count + 1)
            let token = Substring(word).trimmed
            if !token.isEmpty { return token }
        }
        return nil
    }
}
