/// The keys with which requests to an S3-compatible store are signed.
public struct S3Credentials: Sendable, Hashable {
    public var accessKeyID: String
    public var secretKey: String
    /// The token of temporary credentials, sent as `X-Amz-Security-Token`; default none.
    public var sessionToken: String?

    public init(accessKeyID: String, secretKey: String, sessionToken: String? = nil) {
        self.accessKeyID = accessKeyID
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }
}

extension S3Credentials: CustomStringConvertible, CustomDebugStringConvertible {
    /// The access key's id alone: the secrets get into no log.
    public var description: String { "S3Credentials(\(accessKeyID))" }
    public var debugDescription: String { description }
}
