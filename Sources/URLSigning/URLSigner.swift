import Digests

/// Signs URLs, and verifies the signatures of requested URLs.
///
/// **Signed text**: the request target (path and query) byte for byte as sent, up to the signature itself. Nothing is
/// decoded, reordered or normalised, so there is only one reading. Scheme, host and port are omitted: a service may
/// have several names.
///
/// **Position of the signature**: the last parameters of the query, in this order, the middle one only if the signature
/// expires:
///
///     /image/w=256/a.jpg?v=2&imgcache-kid=2026-11&imgcache-exp=1795000000&imgcache-sig=BASE64URL
///     |------------------------- signed --------------------------------|
///
/// `imgcache-sig` is HMAC-SHA256 (RFC 2104) under the key that `imgcache-kid` names, in base64 for URLs without padding
/// (RFC 4648 section 5): 43 characters. `imgcache-exp` is the last second, since 1970, in which the URL is served. The
/// origin's parameters are unchanged and come first; their names must not be those three.
package struct URLSigner: Sendable {
    package let keys: SigningKeys

    package init(_ keys: SigningKeys) { self.keys = keys }

    /// Returns the request target with its signature.
    /// - Parameters:
    ///   - target: Path and query, as a client sends them (RFC 9112 section 3.2.1).
    ///   - expiry: The last second, since 1970, in which the URL is served; nil: no expiry.
    ///   - keyID: The id of the signing key; nil: the first one.
    package func sign(target: String, expiry: Int64? = nil, keyID: String? = nil) throws(SigningError) -> String {
        if let change = UnsignedTarget(target).transitProblem { throw .unsignable(change) }
        let target = UnsignedTarget(target)
        guard !target.hasOwnParameters else { throw .alreadySigned }
        var key = keys.first
        if let keyID {
            guard let named = keys[id: keyID] else { throw .unknownKey(keyID) }
            key = named
        }
        if let expiry, !SignedTarget.expiryRange.contains(expiry) {
            throw .unsignable("the expiry must be from 0 to 999999999999")
        }
        let signed = target.signedText(keyID: key.id, expiry: expiry)
        do throws(DigestUnavailable) {
            return signed + SignedTarget.signatureMark
                + Base64.encodeURL(try HMAC.code(of: signed.utf8, key: key.secret))
        } catch {
            throw .unavailable
        }
    }

    /// Verifies a signed request target. The expiry is evaluated only if the signature is valid. Signatures are
    /// compared in constant time.
    /// - Parameters:
    ///   - target: Path and query as received.
    ///   - now: Seconds since 1970.
    package func verify(target: String, now: Int64) throws(SignatureError) -> VerifiedTarget {
        let signed = try SignedTarget(target)
        guard let key = keys[id: signed.keyID] else { throw .unknownKey(String(signed.keyID)) }
        let isRight: Bool
        do throws(DigestUnavailable) {
            let code = try HMAC.code(of: signed.text.utf8, key: key.secret)
            isRight = ConstantTime.areEqual(code, signed.signature)
        } catch {
            throw .unavailable
        }
        guard isRight else { throw .wrong }
        if let expiry = signed.expiry, now > expiry { throw .expired(at: expiry) }
        return VerifiedTarget(target: String(signed.target), keyID: key.id, expiry: signed.expiry)
    }

    /// Returns a request target without its signature, which is not verified; an unsigned target is unchanged.
    package static func unsigned(_ target: String) -> String {
        (try? SignedTarget(target)).map { String($0.target) } ?? target
    }
}

/// A request target with a valid signature.
package struct VerifiedTarget: Sendable, Equatable {
    /// Path and query without the signature's parameters: the target at the origin.
    package let target: String
    package let keyID: String
    /// The last second, since 1970, in which the URL is served: responses must not be kept for longer.
    package let expiry: Int64?
}

/// An error that explains why a URL cannot be signed.
package enum SigningError: Error, Equatable, Sendable, CustomStringConvertible {
    /// It would be changed on its way; the reason, and the remedy.
    case unsignable(String)
    case alreadySigned
    case unknownKey(String)
    case unavailable

    package var description: String {
        switch self {
        case .unsignable(let reason): reason
        case .alreadySigned: "the URL has parameters of a signature already"
        case .unknownKey(let id): "there is no key \(id) in the key file"
        case .unavailable: SignatureError.unavailable.description
        }
    }
}
