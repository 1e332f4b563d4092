/// An absolute http or https URL (RFC 3986, RFC 9110 section 4.2): parsed once, normalised once.
///
/// It has two spellings with the same scheme, host and port. ``text`` keeps path and query as they were given, because
/// services that sign URLs sign their spelling. ``normalized`` is what equivalent URLs have in common, and what responses are
/// stored under. Both are fixed points: parsing one of them again changes nothing.
public struct HTTPURL: Sendable, Hashable {
    /// The schemes that are transferred.
    public enum Scheme: String, Sendable, Hashable {
        case http, https

        /// 80 or 443.
        public var defaultPort: Int { self == .http ? 80 : 443 }
    }

    public let scheme: Scheme
    /// User and password as the URL has them, percent-encoded; not part of any other property.
    public let userinfo: String?
    /// The port, the scheme's own where the URL has none.
    public let port: Int
    /// The URL to be sent: without userinfo, fragment and dot segments (also escaped ones, which many origins take for what they
    /// are called; browsers send neither, WHATWG URL section 3.1), with what a URL cannot hold escaped. All other spelling of path
    /// and query is as it was given.
    public let text: String
    /// The URL without the differences that mean nothing: letter case of scheme and host, percent-encoding of unreserved
    /// characters, letter case of its digits, dot segments, the scheme's default port, an empty path, a fragment (RFC 3986
    /// sections 6.2.2 and 6.2.3). The order of a query is never touched.
    public let normalized: String
    /// Offsets in the UTF-8 of both spellings: where the host begins, where it ends, and where the path begins.
    private let hostStart: Int
    private let hostEnd: Int
    private let pathStart: Int

    /// The URL that `string` is.
    ///
    /// - Throws: for anything that is not an absolute http or https URL, or that RFC 3986 does not allow and that parsers read
    ///   differently: a `%` without two hexadecimal digits, control characters, a host with other characters than names have.
    public init(_ string: String) throws(InvalidURL) {
        if let plain = PlainURL(string) {
            self.init(string, plain)
        } else {
            try self.init(URLParser(string, strayPercents: .refused))
        }
    }

    /// The URL that a `Location`, a `Content-Location` or a link means in a response from `base` (RFC 3986 section 5.2.2).
    ///
    /// Milder than ``init(_:)``: a `%` without two hexadecimal digits is taken for itself and escaped, because servers write
    /// such redirects and clients follow them.
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

    /// Scheme, host and port, the default port left out: equal for equal origins (RFC 6454).
    public var origin: String { String(normalized.bytes(0..<pathStart)) }

    /// Host and port, the default port left out.
    public var authority: Substring { normalized.bytes(hostStart..<pathStart) }

    /// Path and query as a request line has them (RFC 9112 section 3.2.1).
    public var target: Substring { text.bytes(pathStart..<text.utf8.count) }

    /// The normalised path, which begins with a slash.
    public var path: Substring {
        let target = normalized.bytes(pathStart..<normalized.utf8.count)
        let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        return target[..<end]
    }

    /// The normalised query, without its question mark; `nil` when there is none.
    public var query: Substring? {
        let mark = normalized.utf8.firstIndex(of: UInt8(ascii: "?"))
        return mark.map { normalized[normalized.utf8.index(after: $0)...] }
    }

    /// Whether there is a query, and nothing in it: another resource than the one without.
    public var hasEmptyQuery: Bool { query?.isEmpty == true }

    /// Whether scheme, host and port are equal (RFC 6454).
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
