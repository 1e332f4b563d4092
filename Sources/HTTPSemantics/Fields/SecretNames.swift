/// The names of header fields and query parameters whose values are secrets. This is the only such list, for response heads, logs and
/// pages.
///
/// All names are in lower case.
package enum SecretNames {
    /// Words that make a field's name secret, alone or among others: `X-Auth-Token`, `Private-Token`, `X-Amz-Security-Token`.
    private static let words: Set<Substring> = [
        "apikey", "auth", "authorization", "cookie", "cookie2", "credential", "credentials", "hmac", "jwt", "otp",
        "passwd",
        "password", "pwd", "secret", "session", "sessionid", "sid", "sig", "signature", "token",
    ]
    /// Words that make a key secret: `X-Api-Key`, not `Surrogate-Key` or `Idempotency-Key`.
    private static let keys: Set<Substring> = [
        "access", "account", "admin", "api", "app", "auth", "client", "customer", "encryption", "functions", "license",
        "master", "private", "secret", "service", "shared", "subscription",
    ]
    private static let parameters: Set<String> = [
        "imgcache-sig",
        // Amazon S3, Google Cloud Storage, Azure, CloudFront, Akamai.
        "x-amz-signature", "x-amz-security-token", "x-goog-signature", "signature", "sig", "hdnea", "hdntl", "hdnts",
        "__token__",
        // Common names.
        "access_token", "accesstoken", "api-key", "api_key", "apikey", "auth", "auth_token", "authorization",
        "client_secret", "code", "credential", "hmac", "id_token", "jwt", "key", "passwd", "password", "pwd",
        "refresh_token", "secret", "session", "sessionid", "token",
    ]

    /// Returns true if a field of this name, in any case, holds a secret.
    package static func isField(_ name: some StringProtocol) -> Bool {
        let words = name.lowercased().split { $0 == "-" || $0 == "_" }
        return words.contains(where: Self.words.contains)
            || words.contains("key") && (words.count == 1 || words.contains(where: keys.contains))
    }

    /// Returns true if a query parameter of this name, in any case, holds a secret.
    package static func isParameter(_ name: String) -> Bool { parameters.contains(name.lowercased()) }
}
