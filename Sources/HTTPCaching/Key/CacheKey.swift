import HTTPSemantics
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

    /// A URL without the differences that mean nothing (`HTTPURL.normalized`), with the userinfo that it may have. What is no
    /// absolute http or https URL comes back as it is.
    public static func normalized(_ url: String) -> String {
        guard let parsed = try? HTTPURL(url) else { return url }
        guard let userinfo = parsed.userinfo else { return parsed.normalized }
        let scheme = parsed.scheme.rawValue + "://"
        return scheme + userinfo + "@" + parsed.normalized.utf8.dropFirst(scheme.utf8.count).text
    }
}

extension Substring.UTF8View {
    fileprivate var text: Substring { Substring(self) }
}
