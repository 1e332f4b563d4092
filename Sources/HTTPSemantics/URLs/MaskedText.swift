/// Text for logs and pages that may contain URLs and fields, with secrets replaced by `***`: the values of query parameters, the user and
/// password of a URL, and the values of fields such as `Authorization` and `X-Api-Key`. Hidden characters are escaped.
///
/// Readers of a log could use a signed URL in it. Parameters are masked if they sign URLs of this service or common object stores and
/// CDNs, or have common names of tokens and passwords: see ``SecretNames``.
package enum MaskedText {
    package static func masked(_ text: String) -> String {
        visible(maskingFields(URLText.masked(maskingParameters(text))))
    }

    /// The text with hidden characters as `\u{202e}`.
    package static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.isHidden) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar.isHidden {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }

    /// Replaces the rest of each line after `X-Api-Key:` and the like.
    private static func maskingFields(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: ":")) else { return text }
        var result: [UInt8] = []
        for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
            if !result.isEmpty || line.startIndex != text.utf8.startIndex { result.append(0x0A) }
            let colon = line.indices.first { line[$0] == UInt8(ascii: ":") && isField(line[..<$0]) }
            guard let colon else {
                result += line
                continue
            }
            result += line[...colon]
            result += " ***".utf8
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// True if a text ends in the name of a field whose value authorises.
    private static func isField(_ text: Substring.UTF8View) -> Bool {
        let name = text.suffix(64).reversed().drop { $0 == UInt8(ascii: "\"") }.prefix { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"),
                UInt8(ascii: "_"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: false
            }
        }
        return !name.isEmpty && SecretNames.isField(String(decoding: name.reversed(), as: UTF8.self))
    }

    private static func maskingParameters(_ text: String) -> String {
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
