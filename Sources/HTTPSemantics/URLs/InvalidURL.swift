public import FoundationEssentials

/// An error that explains why a text is not an absolute http or https URL.
public struct InvalidURL: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
    /// The first rule that the text breaks.
    public enum Reason: Sendable, Hashable {
        /// There is no scheme, or no `//` behind it.
        case notAbsolute
        /// The scheme is neither http nor https.
        case scheme(String)
        case controlCharacter
        /// There is no host, or it contains characters that names and addresses do not have.
        case host
        /// The port is not a number from 1 to 65535.
        case port
        /// A `%` without two hexadecimal digits (RFC 3986 section 2.1).
        case percent
        /// A host name without an ASCII form (UTS 46), or libidn2 is not installed; the reason as text.
        case internationalName(String)
    }

    public let reason: Reason

    init(_ reason: Reason) { self.reason = reason }

    public var description: String {
        switch reason {
        case .notAbsolute: "not an absolute http or https URL"
        case .scheme(let name): "only http and https are fetched, not '\(name)'"
        case .controlCharacter: "a URL must not contain control characters"
        case .host: "the URL's host is missing or not a host name or address"
        case .port: "the URL's port must be a number from 1 to 65535"
        case .percent: "a '%' in a URL must be followed by two hexadecimal digits"
        case .internationalName(let text): text
        }
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
