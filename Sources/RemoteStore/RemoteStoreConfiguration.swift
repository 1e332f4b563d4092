public import Transfer

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
    /// The time for one object to arrive as a whole; default 5 s, or five times the time to the first byte, whichever is longer.
    public var readTimeout: Duration {
        get { chosenReadTimeout ?? max(.seconds(5), firstByteTimeout * 5) }
        set { chosenReadTimeout = newValue }
    }
    private var chosenReadTimeout: Duration?
    /// The time for one upload; default 60 s.
    public var writeTimeout: Duration = .seconds(60)
    /// The length in bytes up to which a body is stored as one object; default 8 MiB, at most 64 MiB. A longer one is stored in parts.
    public var maxBodySize: Int64 = 8 << 20
    /// The length in bytes up to which bodies are stored; default 64 GiB.
    public var maxSharedSize: Int64 = 64 << 30
    /// The length in bytes of the parts of a body: a multiple of 256 KiB.
    package var partSize: Int64 = 8 << 20
    /// The number of requests at once that somebody waits for, each with an object in memory; default 64. Others wait for their turn, within
    /// the time to the first byte.
    public var maxReads = 64
    /// The number of parts of bodies that are read at once, each in memory.
    package static let maxPartReads = 16
    /// The number of uploads that may wait, each with its file open; default 256. The oldest are dropped.
    public var maxWaitingUploads = 256
    /// The bytes of uploads that may wait; default 64 MiB. Those that run are in memory.
    public var maxWaitingBytes: Int64 = 64 << 20
    /// The number of uploads at once; default 4.
    public var maxUploads = 4
    /// The number of failures, or of slow responses, in a row after which the store is left alone for a while; default 3. A time-out of a
    /// read is enough by itself. A quick read of an object ends a row; smaller requests, and uploads, do not.
    public var failureLimit = 3
    /// The time to an object after which a response counts as slow; default 500 ms, or half of the time to the first byte, whichever is longer.
    public var slowResponse: Duration {
        get { chosenSlowResponse ?? max(.milliseconds(500), firstByteTimeout / 2) }
        set { chosenSlowResponse = newValue }
    }
    private var chosenSlowResponse: Duration?
    /// The time within which an invalidation by another machine ends what this one has on its disk and in memory: one small request each
    /// time. Default 2 s. `nil`: the store is not tried at the start, and invalidations are looked for only by look-ups, of what is in the store.
    public var invalidationInterval: Duration? = .seconds(2)
    /// The time for which a machine has a URL to itself while it asks the origin, unless it renews it; the others wait for its
    /// object. Default 3 s; zero: everyone asks the origin.
    public var leaseTime: Duration = .seconds(3)
    /// A file of certificate authorities in PEM that replaces the system's.
    public var caFile: String?
    /// True to share the responses of an owner as well, also `private` ones; default false. The owner is the one that the request names, or
    /// the fingerprint of an `Authorization` field, or of a user without a password, if that is all the credentials it has: keys contain it.
    ///
    /// Without a named owner, nothing of a request with a cookie, a `.netrc`, or a user and a password is shared, and nothing whose key is not its
    /// URL. A `private` response to a request without an owner never is.
    public var sharesPrivateResponses = false
    /// The HTTP client, which the cache shuts down when it is closed; default: two `TransferEngine`s of the store's own, one for what
    /// somebody waits for, and one for changes behind the response.
    public var transport: (any HTTPTransport)?

    /// The settings for `s3://bucket/prefix`, as AWS's tools find them: ``S3Location/init(_:)``, `S3Credentials.found()`, and
    /// certificate authorities in `AWS_CA_BUNDLE`.
    ///
    /// - Throws: ``RemoteConfigurationError``
    public init(_ text: String) throws(RemoteConfigurationError) {
        self.init(location: try S3Location(text), credentials: try S3Credentials.found())
        caFile = RemoteEnvironment.value("AWS_CA_BUNDLE")
    }

    public init(location: S3Location, credentials: S3Credentials) {
        self.location = location
        self.credentials = credentials
    }
}
