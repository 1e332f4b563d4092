/// The settings of a remote store.
public struct RemoteStoreConfiguration: Sendable {
    /// The bucket, and the prefix of the keys in it.
    public var location: S3Location
    /// The keys with which requests are signed.
    public var credentials: S3Credentials
    /// The time to connect, with name look-up and TLS handshake; default 200 ms.
    public var connectTimeout: Duration = .milliseconds(200)
    /// The time to the first byte of a response, and between two bytes of one; default 1 s.
    public var firstByteTimeout: Duration = .seconds(1)
    /// The time for one object to arrive as a whole; default 5 s.
    public var readTimeout: Duration = .seconds(5)
    /// The time for one upload; default 60 s.
    public var writeTimeout: Duration = .seconds(60)
    /// A file of certificate authorities in PEM that replaces the system's.
    public var caFile: String?

    public init(location: S3Location, credentials: S3Credentials) {
        self.location = location
        self.credentials = credentials
    }
}
