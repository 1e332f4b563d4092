import HTTPSemantics
public import HTTPTypes
import TextIdentity

/// The key under which responses are stored (RFC 9111 section 2): the normalised URL, the class of the method, a digest
/// of the request's body if that is significant, and the namespace of the entry's owner.
///
/// Each part is preceded by its length, so that keys with different parts never have the same text.
public struct CacheKey: Sendable, Hashable, CustomStringConvertible {
    /// The key.
    public let value: String

    /// - Parameters:
    ///   - url: The absolute URL of the request; normalised here.
    ///   - method: GET and HEAD have the same key. Pass GET for a response to POST that is stored for later GETs (RFC
    ///     9110 section 9.3.3).
    ///   - bodyDigest: A digest of the request's body, if the response depends on it (QUERY, a POST that only
    ///     retrieves).
    ///   - owner: The entry's owner; `nil` for none, a namespace different from that of the owner `""`.
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

    // The owner is a text of the caller: keys are equal if their bytes are.
    public static func == (one: CacheKey, other: CacheKey) -> Bool { one.value.hasSameBytes(as: other.value) }

    public func hash(into hasher: inout Hasher) { hasher.combine(value.asBytes) }

    /// The normalised URL (`HTTPURL.normalized`), including any userinfo. A text that is not an absolute http or
    /// https URL is returned unchanged.
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
