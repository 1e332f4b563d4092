import Digests

/// AWS Signature Version 4 with an `Authorization` field: a pure function of request, scope and credentials.
struct SigV4Signer: Sendable {
    let credentials: S3Credentials
    let scope: SigV4Scope

    /// The text to sign: algorithm, date, scope, and the digest of the canonical request.
    func stringToSign(_ request: SigV4Request) throws(DigestUnavailable) -> String {
        let digest = try RunningDigest.digest(.sha256, of: Array(request.canonicalText.utf8)).hexadecimal
        return ["AWS4-HMAC-SHA256", scope.timestamp, scope.text, digest].joined(separator: "\n")
    }

    /// The signature, in hexadecimal digits.
    func signature(of request: SigV4Request) throws(DigestUnavailable) -> String {
        var key = Array("AWS4\(credentials.secretKey)".utf8)
        for part in [scope.day, scope.region, scope.service, "aws4_request"] {
            key = try HMAC.code(of: part.utf8, key: key)
        }
        return try HMAC.code(of: try stringToSign(request).utf8, key: key).hexadecimal
    }

    /// The value of the request's `Authorization`.
    func authorization(for request: SigV4Request) throws(DigestUnavailable) -> String {
        "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope.text), SignedHeaders=\(request.signedFields), "
            + "Signature=\(try signature(of: request))"
    }
}
