/// Text for logs and pages that may contain URLs, with the values of authorising query parameters replaced by `***`.
///
/// A signed URL in a log could be used by its readers. The parameters are those of this service's own signatures, of
/// common object stores and CDNs, and common names of tokens and passwords: see ``SecretNames``.
package enum MaskedText {
    package static func masked(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "=")) else { return text }
        var result: [UInt8] = []
        var rest = text.utf8[...]
        var isMasked = false
        while let mark = rest.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "&") }) {
            let start = rest.index(after: mark)
            result += rest[..<start]
            rest = rest[start...]
            let name = rest.prefix { !isEnd($0) && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "?") }
            guard name.endIndex < rest.endIndex, rest[name.endIndex] == UInt8(ascii: "="),
                SecretNames.isParameter(decoded(name))
            else { continue }
            result += name
            result += "=***".utf8
            rest = rest[name.endIndex...].drop { !isEnd($0) }
            isMasked = true
        }
        guard isMasked else { return text }
        return String(decoding: result + rest, as: UTF8.self)
    }

    /// Returns true at the end of a value: at the next parameter, or where the URL ends in a sentence.
    private static func isEnd(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), 0...0x20:
            true
        default: false
        }
    }

    /// A parameter's name without escapes: verifiers read `%73ig` as `sig`.
    private static func decoded(_ name: Substring.UTF8View) -> String {
        String(decoding: PercentEncoding.decoded(name), as: UTF8.self)
    }
}
