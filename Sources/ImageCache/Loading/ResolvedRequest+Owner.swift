import Digests
import HTTPTypes
import TextIdentity

/// Whose a request is.
extension ResolvedRequest {
    /// Those to whom a response may be given by its key alone, on whatever machine they ask.
    enum Audience: Sendable, Hashable {
        /// Everybody: the request has neither credentials nor an owner, and its key is its URL.
        case everybody
        /// The owner: the key has the name that the caller gives, or a fingerprint of all the credentials.
        case owner
        /// Nobody else can be told by the key: cookies, what `.netrc` says, and passwords are in none. Two users may have the same
        /// name, and two machines files of the same name.
        case unknown
    }

    var audience: Audience {
        if request.owner != nil { return .owner }
        if request.fields.contains(.cookie) || request.transfer.netrc != .off { return .unknown }
        if namespace == .shared { return isKeyOfOwn ? .everybody : .unknown }
        // Of several credentials the key has one.
        let count = [
            request.transfer.credentials != nil, hasUserinfo, request.fields.contains(.authorization),
        ].count { $0 }
        if count == 1, case .credentials = namespace { return .owner }
        return .unknown
    }

    /// Whose namespace the entry belongs to: what the caller says, else whoever the credentials name. An answer to one
    /// user's credentials is never another's, and no password is written to disk.
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
        // Only libcurl knows what the file says of the host, and whether it says anything.
        switch request.transfer.netrc {
        case .off: return .shared
        case .default: return .netrc(path: nil)
        case .path(let path): return .netrc(path: path.asBytes)
        }
    }

    /// A user without a password is a token, as likely as not.
    private static func namespace(ofUser user: String, hasPassword: Bool) -> Namespace {
        hasPassword
            ? .user(user.asBytes) : .credentials(digest: fingerprint([HTTPField(name: .authorization, value: user)]))
    }

    /// SHA-256: tells tokens apart, and does not tell them. By their bytes, which need not be text.
    private static func fingerprint(_ fields: some Sequence<HTTPField>) -> ByteText {
        var bytes: [UInt8] = []
        for field in fields {
            field.withUnsafeBytesOfValue { bytes.append(contentsOf: $0) }
            bytes.append(0)
        }
        return ShortSHA256.digest(of: bytes).hexadecimal.asBytes
    }
}
