/// The reason for refusing a request: its URL was not signed with a known key, or has expired.
package enum SignatureError: Error, Equatable, Sendable {
    /// The URL has no signature.
    case missing
    /// The signature's parameters are malformed.
    case malformed
    /// There is no key of that name.
    case unknownKey(String)
    /// The signature expired at this time (seconds since 1970).
    case expired(at: Int64)
    /// The signature does not match the URL and the key.
    case wrong
    /// libcrypto cannot be opened, so signatures cannot be verified.
    case unavailable
}

extension SignatureError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .missing: "the URL is not signed"
        case .malformed: "the URL's signature is malformed"
        case .unknownKey(let id): "the URL is signed with the key \(id), which is unknown"
        case .expired(let time): "the URL expired at \(time) (seconds since 1970)"
        case .wrong: "the URL's signature is wrong"
        case .unavailable: "signatures need libcrypto.so.3 (Debian package libssl3), which cannot be opened"
        }
    }
}
