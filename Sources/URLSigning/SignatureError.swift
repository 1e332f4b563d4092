/// Why a request is not served: its URL was not signed by anybody who has a key, or no longer counts.
public enum SignatureError: Error, Equatable, Sendable {
    /// There is no signature.
    case missing
    /// The signature's parameters are not as `SignedTarget` writes them.
    case malformed
    /// Nobody here has a key of that name.
    case unknownKey(String)
    /// The signature was right until then (seconds since 1970).
    case expired(at: Int64)
    /// The signature is another URL's, another key's, or nobody's.
    case wrong
    /// libcrypto cannot be opened, so nothing can be verified.
    case unavailable
}

extension SignatureError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missing: "the URL is not signed"
        case .malformed: "the URL's signature is malformed"
        case .unknownKey(let id): "the URL is signed with the key \(id), which is not known here"
        case .expired(let time): "the URL expired at \(time) (seconds since 1970)"
        case .wrong: "the URL's signature is wrong"
        case .unavailable: "signatures need libcrypto.so.3 (Debian package libssl3), which cannot be opened"
        }
    }
}
