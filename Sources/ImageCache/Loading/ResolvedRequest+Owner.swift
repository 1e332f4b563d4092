import Digests
import HTTPTypes
import TextIdentity

/// The owner of a request.
extension ResolvedRequest {
    /// The requests that a response may answer by its key alone, on any machine.
    package enum Audience: Sendable, Hashable {
        /// All requests: this one has neither credentials nor an owner, and its key is its URL.
        case everybody
        /// Requests of the owner: the key contains the name that the caller gives, or a fingerprint of all the credentials.
        case owner
        /// Only this request: no key contains cookies, certificates, the contents of `.netrc` or passwords. Two users may have the same name,
        /// and two machines may have different files with the same name.
        case unknown
    }

    package var audience: Audience {
        if request.owner != nil { return .owner }
        let transfer = request.transfer
        if request.fields.contains(.cookie) || transfer.cookieFile != nil || transfer.netrc != .off
            || transfer.clientCertificate != nil
        {
            return .unknown
        }
        if namespace == .shared { return isKeyOfOwn ? .everybody : .unknown }
        // The key contains only one of several credentials.
        let count = [
            request.transfer.credentials != nil, hasUserinfo, request.fields.contains(.authorization),
        ].count { $0 }
        if count == 1, case .credentials = namespace { return .owner }
        return .unknown
    }

    /// The namespace of the entry: the caller's owner, otherwise the user of the credentials. A response to one user's credentials never answers
    /// another user, and no password is written to disk.
    static func namespace(of request: FileRequest, userinfo: Substring?) -> Namespace {
        if let owner = request.owner { return .owner(owner.asBytes) }
        if let credentials = request.transfer.credentials {
            return namespace(ofUser: credentials.user, hasPassword: !credentials.password.isEmpty)
        }
        if let userinfo {
            let user = userinfo.prefix { $0 != ":" }
            return namespace(ofUser: String(user), hasPassword: userinfo.utf8.count > user.utf8.count + 1)
        }
        if request.fields.contains(.authorization) {
            return .credentials(digest: fingerprint(request.fields[fields: .authorization]))
        }
        if let certificate = request.transfer.clientCertificate {
            return .credentials(
                digest: fingerprint([HTTPField(name: .authorization, value: "TLS \(certificate.path)")]))
        }
        // Only libcurl knows whether the file has an entry for the host.
        switch request.transfer.netrc {
        case .off: return .shared
        case .default: return .netrc(path: nil)
        case .path(let path): return .netrc(path: path.asBytes)
        }
    }

    /// A user without a password may be a token, so only its fingerprint is used.
    private static func namespace(ofUser user: String, hasPassword: Bool) -> Namespace {
        hasPassword
            ? .user(user.asBytes) : .credentials(digest: fingerprint([HTTPField(name: .authorization, value: user)]))
    }

    /// The SHA-256 of the fields' bytes, which need not be text. It distinguishes tokens without revealing them.
    private static func fingerprint(_ fields: some Sequence<HTTPField>) -> ByteText {
        var bytes: [UInt8] = []
        for field in fields {
            field.withUnsafeBytesOfValue { bytes.append(contentsOf: $0) }
            bytes.append(0)
        }
        return ShortSHA256.digest(of: bytes).hexadecimal.asBytes
    }
}
