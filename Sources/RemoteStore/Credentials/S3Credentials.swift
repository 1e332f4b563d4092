/// The credentials that sign requests to an S3-compatible store.
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

    /// Selects the credentials of the machine's AWS role. They are fetched from the instance's metadata service (IMDSv2), at
    /// `AWS_EC2_METADATA_SERVICE_ENDPOINT` or AWS's own address, and renewed before they expire.
    public static let ofInstance = S3Credentials(accessKeyID: "", secretKey: "")
}

extension S3Credentials: CustomStringConvertible, CustomDebugStringConvertible {
    /// Only the access key's id, so that no log contains the secrets.
    public var description: String { "S3Credentials(\(accessKeyID))" }
    public var debugDescription: String { description }
}
