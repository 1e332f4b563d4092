/// An absolute http or https URL (RFC 3986, RFC 9110 section 4.2): parsed once, normalised once.
///
/// There are two spellings with the same scheme, host and port. ``text`` preserves path and query as given, because
/// services that sign URLs sign their spelling. ``normalized`` is common to equivalent URLs, and identifies stored
/// responses. Both are fixed points: parsing one of them again changes nothing.
public struct HTTPURL: Sendable, Hashable {
    /// The schemes that are transferred.
    public enum Scheme: String, Sendable, Hashable {
        case http, https

        /// 80 or 443.
        public var defaultPort: Int { self == .http ? 80 : 443 }
    }

    public let scheme: Scheme
    /// User and password as written in the URL, percent-encoded; not part of any other property.
    public let userinfo: String?
    /// The port; the scheme's default if the URL has none.
    public let port: Int
    /// The URL to send: without userinfo, fragment and dot segments (also escaped ones, which many origins resolve;
    /// browsers send neither, WHATWG URL section 3.1), with invalid characters escaped. The spelling of path and query
    /// is otherwise preserved.
    public let text: String
    /// The URL without insignificant differences: letter case of scheme and host, percent-encoding of unreserved
    /// characters, letter case of its digits, dot segments, the scheme's default port, an empty path, a fragment (RFC
    /// 3986 sections 6.2.2 and 6.2.3). The order of a query is never changed.
    public let normalized: String
    /// Offsets in the UTF-8 of both spellings: the start of the host, its end, and the start of the path.
    private let hostStart: Int
    private let hostEnd: Int
    private let pathStart: Int

    /// Parses an absolute URL.
    ///
    /// - Throws: ``InvalidURL`` for anything that is not an absolute http or https URL, or that RFC 3986 does not allow
    ///   and parsers read differently: a `%` without two hexadecimal digits, control characters, a host with characters
    ///   that names do not contain.
    public init(_ string: String) throws(InvalidURL) {
        if let plain = PlainURL(string) {
            self.init(string, plain)
        } else {
            try self.init(URLParser(string, strayPercents: .refused))
        }
    }

    /// Resolves a `Location`, a `Content-Location` or a link in a response from `base` (RFC 3986 section 5.2.2).
    ///
    /// More lenient than ``init(_:)``: a `%` without two hexadecimal digits is taken literally and escaped, because
    /// servers send such redirects and clients follow them.
    public init(reference: String, relativeTo base: HTTPURL) throws(InvalidURL) {
        let absolute = URLReference(reference).resolved(against: base)
        if let plain = PlainURL(absolute) {
            self.init(absolute, plain)
        } else {
            try self.init(URLParser(absolute, strayPercents: .escaped))
        }
    }

    private init(_ text: String, _ plain: PlainURL) {
        scheme = plain.host.lowerBound == "https://".utf8.count ? .https : .http
        userinfo = nil
        port = plain.port ?? scheme.defaultPort
        self.text = text
        normalized = text
        hostStart = plain.host.lowerBound
        hostEnd = plain.host.upperBound
        pathStart = plain.pathStart
    }

    private init(_ parser: URLParser) {
        scheme = parser.scheme
        userinfo = parser.userinfo
        port = parser.port ?? parser.scheme.defaultPort
        var prefix = "\(parser.scheme.rawValue)://"
        hostStart = prefix.utf8.count
        prefix += parser.host
        hostEnd = prefix.utf8.count
        if let port = parser.port { prefix += ":\(port)" }
        pathStart = prefix.utf8.count
        text = prefix + parser.target
        normalized = parser.normalizedTarget == parser.target ? text : prefix + parser.normalizedTarget
    }
}

extension HTTPURL: CustomStringConvertible {
    public var description: String { text }
}

extension HTTPURL {
    /// The host: a name in lower case and A-labels (RFC 5890), dotted decimals, or an IPv6 address in brackets.
    public var host: String { String(normalized.bytes(hostStart..<hostEnd)) }

    /// A host alone as ``host`` spells it; `nil` if it is not one, such as one with a port.
    package static func host(_ text: String) -> String? { try? HostName.normalized(Array(text.utf8)[...]) }

    /// Scheme, host and port, without the default port: equal for equal origins (RFC 6454).
    public var origin: String { String(normalized.bytes(0..<pathStart)) }

    /// Host and port, without the default port.
    public var authority: Substring { normalized.bytes(hostStart..<pathStart) }

    /// Path and query as in a request line (RFC 9112 section 3.2.1).
    public var target: Substring { text.bytes(pathStart..<text.utf8.count) }

    /// The normalised path, which begins with a slash.
    public var path: Substring {
        let target = normalized.bytes(pathStart..<normalized.utf8.count)
        let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        return target[..<end]
    }

    /// The normalised query, without its question mark; `nil` if there is none.
    public var query: Substring? {
        let mark = normalized.utf8.firstIndex(of: UInt8(ascii: "?"))
        return mark.map { normalized[normalized.utf8.index(after: $0)...] }
    }

    /// True if the query exists and is empty: such a URL identifies another resource than the one without a query.
    public var hasEmptyQuery: Bool { query?.isEmpty == true }

    /// Returns true if scheme, host and port are equal (RFC 6454).
    public func hasSameOrigin(as other: HTTPURL) -> Bool {
        pathStart == other.pathStart
            && normalized.utf8.prefix(pathStart).elementsEqual(other.normalized.utf8.prefix(pathStart))
    }
}

extension String {
    fileprivate func bytes(_ range: Range<Int>) -> Substring {
        self[utf8.index(startIndex, offsetBy: range.lowerBound)..<utf8.index(startIndex, offsetBy: range.upperBound)]
    }
}
