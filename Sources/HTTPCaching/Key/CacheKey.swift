public import HTTPTypes

/// What responses are stored under and looked for by (RFC 9111 section 2): the normalised URL, the class of the method, a
/// digest of the request's body where that takes part, and the namespace of whoever owns the entry.
///
/// Each part says how long it is, so that no two keys with different parts are the same text.
public struct CacheKey: Sendable, Hashable, CustomStringConvertible {
    /// The key.
    public let value: String

    /// - Parameters:
    ///   - url: The absolute URL that is asked for; normalised here.
    ///   - method: GET and HEAD have the same key. Pass GET for the answer to a POST that is stored for later GETs (RFC 9110
    ///     section 9.3.3).
    ///   - bodyDigest: A digest of the request's body, when the body is part of the question (QUERY, a POST that only asks).
    ///   - owner: Whose entry it is; `nil` is nobody's, which is another namespace than that of the owner `""`.
    public init(
        url: String, method: HTTPRequest.Method = .get, bodyDigest: String? = nil, owner: String? = nil
    ) {
        let methodClass = method == .head ? HTTPRequest.Method.get.rawValue : method.rawValue
        var value = methodClass
        for part in [owner, bodyDigest] {
            if let part { value += " \(part.utf8.count):\(part)" } else { value += " -" }
        }
        self.value = value + " " + CacheKey.normalized(url)
    }

    public var description: String { value }

    /// A URL without the differences that mean nothing: letter case of scheme and host, percent-encoding of unreserved
    /// characters, letter case of its digits, dot segments, the scheme's default port, an empty path, a fragment (RFC 3986
    /// sections 6.2.2 and 6.2.3). The order of a query is never touched. What is no absolute URL comes back as it is.
    public static func normalized(_ url: String) -> String {
        isPlain(url) ? url : normalizedByParts(url)
    }

    /// The URL to ask for, so that the answer is that of ``normalized(_:)``: without dot segments, also escaped ones, which many
    /// origins take for what they are called (browsers send neither; WHATWG URL section 3.1), and with spaces escaped as they
    /// are there. All else is left as it is given: services that sign URLs sign their spelling. The fragment goes.
    public static func toBeSent(_ url: String) -> String {
        guard !isPlain(url) else { return url }
        var parts = URLReference(url)
        guard parts.scheme != nil, parts.authority != nil else { return url }
        parts.path = withoutDotSegments(parts.path)
        parts.query = parts.query?.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "%20")
        return parts.text
    }

    /// Whether a URL is normal at a glance, as nearly all are: scheme and host in lower case, no port, no user, nothing
    /// escaped or to be escaped, no segment that begins with a dot, no fragment.
    static func isPlain(_ url: String) -> Bool {
        var url = url
        return url.withUTF8 { bytes in
            guard let start = plainHost(bytes) else { return false }
            var end = start
            while end < bytes.count, bytes[end] != UInt8(ascii: "/") {
                let byte = bytes[end]
                guard (97...122).contains(byte) || byte.isDigit || byte == 0x2E || byte == 0x2D else { return false }
                end += 1
            }
            guard end > start, end < bytes.count else { return false }
            var isInPath = true
            for index in end..<bytes.count {
                switch bytes[index] {
                case 0...0x20, 0x7F..., UInt8(ascii: "%"), UInt8(ascii: "#"): return false
                case UInt8(ascii: "?"): isInPath = false
                case UInt8(ascii: ".") where isInPath && bytes[index - 1] == UInt8(ascii: "/"): return false
                default: break
                }
            }
            return true
        }
    }

    /// Where the host begins after `http://` or `https://`.
    private static func plainHost(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        for scheme: StaticString in ["http://", "https://"] {
            let count = scheme.utf8CodeUnitCount
            if bytes.count > count, scheme.withUTF8Buffer({ $0.elementsEqual(bytes[..<count]) }) { return count }
        }
        return nil
    }

    /// The same for any URL.
    static func normalizedByParts(_ url: String) -> String {
        var parts = URLReference(url)
        guard let scheme = parts.scheme, let authority = parts.authority else { return url }
        parts.authority = normalizedAuthority(authority, scheme: scheme)
        parts.path = normalizedEscapes(withoutDotSegments(parts.path))
        if parts.path.isEmpty { parts.path = "/" }
        parts.query = parts.query.map(normalizedEscapes)
        return parts.text
    }

    private static func normalizedAuthority(_ authority: String, scheme: String) -> String {
        var host = authority.utf8[...]
        var userInfo = ""
        if let at = host.lastIndex(of: UInt8(ascii: "@")) {
            userInfo = normalizedEscapes(String(decoding: host[...at], as: UTF8.self))
            host = host[host.index(after: at)...]
        }
        var port = ""
        // A second colon outside brackets is no port's: such an authority is left as it is.
        if let colon = host.lastIndex(of: UInt8(ascii: ":")), host[host.index(after: colon)...].allSatisfy(\.isDigit),
            host[..<colon].last == UInt8(ascii: "]") || !host[..<colon].contains(UInt8(ascii: ":"))
        {
            // Leading zeros and the default say nothing.
            let digits = host[host.index(after: colon)...].drop { $0 == UInt8(ascii: "0") }
            port = String(decoding: digits, as: UTF8.self)
            host = host[..<colon]
        }
        if (scheme == "http" && port == "80") || (scheme == "https" && port == "443") { port = "" }
        let name = normalizedEscapes(String(decoding: host, as: UTF8.self))
        let lowercased = String(decoding: lowercasingOutsideEscapes(name), as: UTF8.self)
        return userInfo + lowercased + (port.isEmpty ? "" : ":" + port)
    }

    private static func lowercasingOutsideEscapes(_ text: String) -> [UInt8] {
        var escaped = 0
        return text.utf8.map { byte in
            if byte == UInt8(ascii: "%") {
                escaped = 2
                return byte
            }
            if escaped > 0 {
                escaped -= 1
                return byte
            }
            return byte.lowercased
        }
    }

    /// Decodes what need not be encoded, writes the rest of the escapes in upper case, and encodes what a URL cannot hold.
    private static func normalizedEscapes(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard bytes.contains(where: { $0 == UInt8(ascii: "%") || $0 <= 0x20 || $0 >= 0x7F }) else { return text }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%"), index + 2 < bytes.count, let high = bytes[index + 1].hexValue,
                let low = bytes[index + 2].hexValue
            {
                let decoded = high << 4 | low
                if decoded.isUnreserved { result.append(decoded) } else { appendEscape(decoded, to: &result) }
                index += 3
                continue
            }
            if byte <= 0x20 || byte >= 0x7F { appendEscape(byte, to: &result) } else { result.append(byte) }
            index += 1
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func appendEscape(_ byte: UInt8, to result: inout [UInt8]) {
        let digits: StaticString = "0123456789ABCDEF"
        digits.withUTF8Buffer { digits in
            result.append(UInt8(ascii: "%"))
            result.append(digits[Int(byte >> 4)])
            result.append(digits[Int(byte & 15)])
        }
    }

    /// Whether a path has a segment `.` or `..`, also an escaped one: who takes them out and who does not go to different places.
    ///
    /// - Parameter path: without a query.
    public static func hasDotSegments(_ path: Substring.UTF8View) -> Bool {
        mayHaveDotSegments(path) && path.split(separator: UInt8(ascii: "/")).contains { (1...2).contains(dots($0)) }
    }

    /// Most paths have dots only within segments.
    private static func mayHaveDotSegments(_ path: Substring.UTF8View) -> Bool {
        var before = UInt8(ascii: "/")
        return path.contains { byte in
            defer { before = byte }
            return (byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%")) && before == UInt8(ascii: "/")
        }
    }

    /// RFC 3986 section 5.2.4; a dot may be escaped (section 6.2.2.3).
    private static func withoutDotSegments(_ path: String) -> String {
        guard mayHaveDotSegments(path[...].utf8) else { return path }
        var output: [Substring.UTF8View] = []
        let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            let dots = dots(segment)
            if dots == 1 {
                if isLast { output.append(segment.prefix(0)) }
            } else if dots == 2 {
                // The empty segment before the first slash stays.
                if output.count > 1 { output.removeLast() }
                if isLast { output.append(segment.prefix(0)) }
            } else {
                output.append(segment)
            }
        }
        var result: [UInt8] = []
        for (index, segment) in output.enumerated() {
            if index > 0 { result.append(UInt8(ascii: "/")) }
            result.append(contentsOf: segment)
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// How many dots a segment is; 0 when it is anything else.
    private static func dots(_ segment: Substring.UTF8View) -> Int {
        var rest = segment
        var count = 0
        while let first = rest.first {
            if first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if rest.starts(with: "%2e".utf8) || rest.starts(with: "%2E".utf8) {
                rest = rest.dropFirst(3)
            } else {
                return 0
            }
            count += 1
        }
        return count
    }
}

extension UInt8 {
    /// RFC 3986 section 2.3.
    fileprivate var isUnreserved: Bool {
        (97...122).contains(lowercased) || isDigit || self == 0x2D || self == 0x2E || self == 0x5F || self == 0x7E
    }

    fileprivate var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}
