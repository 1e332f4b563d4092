import Digests
import HTTPSemantics

/// The path of a URL's file under `--tree`: the host, the port unless it is the scheme's default, the path and the query.
///
/// Different URLs of one scheme have different paths, except for `…/` and `…/index.html`, and no path leaves the folder. Segments are
/// decoded if the result is a harmless name; otherwise they stay percent-encoded.
enum TreePath {
    static func path(of url: String) throws(InvalidURL) -> String {
        let url = try HTTPURL(url)
        var parts = [encoded(String(url.authority))]
        var segments = url.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        let last = segments.popLast() ?? ""
        // An empty segment would vanish. A lone percent sign has no other meaning.
        parts += segments.map { $0.isEmpty ? "%" : name($0) }
        let file = last.isEmpty ? "index.html" : name(last)
        parts.append(url.query.map { "\(file)?\(queryName($0))" } ?? file)
        return parts.map(fitted).joined(separator: "/")
    }

    /// A query may contain slashes, which must not become separators. All escapes are escaped, so that these slashes differ from escaped
    /// ones.
    private static func queryName(_ query: Substring) -> String {
        var result: [UInt8] = []
        for byte in query.utf8 {
            if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "%") {
                PercentEncoding.append(byte, to: &result)
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func name(_ segment: String) -> String {
        let decoded = PercentEncoding.decoded(segment.utf8)
        guard let text = String(validating: decoded, as: UTF8.self), text.unicodeScalars.allSatisfy(isHarmless),
            text != ".", text != "..", text != ".imgcache"
        else { return encoded(segment) }
        return text
    }

    /// Returns false for a scalar that must stay percent-encoded, because it would be a separator, an escape or invisible.
    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.isHidden && scalar != "/" && scalar != "%" && scalar != "?"
    }

    private static func encoded(_ segment: String) -> String {
        var result: [UInt8] = []
        for byte in segment.utf8 {
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), 0..<0x20, 0x7F...: PercentEncoding.append(byte, to: &result)
            default: result.append(byte)
            }
        }
        // A host of dots, or a segment of escaped ones: the URL's own dot segments have already been removed.
        if result.allSatisfy({ $0 == UInt8(ascii: ".") }) || result.elementsEqual(".imgcache".utf8) {
            result.replaceSubrange(0..<1, with: "%2E".utf8)
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Shortens a name to the 255 bytes that file systems allow. A longer name ends with its hash.
    private static func fitted(_ part: String) -> String {
        guard part.utf8.count > 255 else { return part }
        let beginning = String(decoding: part.utf8.prefix(180), as: UTF8.self).filter { $0 != "\u{FFFD}" }
        return beginning + "%" + Array(ShortSHA256.digest(of: part.utf8).prefix(8)).hexadecimal
    }
}
