public import Transfer

/// The settings of a remote store.
public struct RemoteStoreConfiguration: Sendable {
    /// The bucket, and the prefix of its keys.
    public var location: S3Location
    /// The credentials that sign requests.
    public var credentials: S3Credentials
    /// The time limit for connecting, including name resolution and TLS handshake. Default 200 ms.
    public var connectTimeout: Duration = .milliseconds(200)
    /// The time limit for the first byte of a response, and between two bytes. Default 1 s.
    public var firstByteTimeout: Duration = .seconds(1)
    /// The time limit for a whole object. Default 5 s, or five times ``firstByteTimeout`` if that is longer.
    public var readTimeout: Duration {
        get { chosenReadTimeout ?? max(.seconds(5), firstByteTimeout * 5) }
        set { chosenReadTimeout = newValue }
    }
    private var chosenReadTimeout: Duration?
    /// The time limit for one upload. Default 60 s.
    public var writeTimeout: Duration = .seconds(60)
    /// The length in bytes up to which a body is stored as one object. Default 8 MiB, at most 64 MiB. A longer body is stored in parts.
    public var maxBodySize: Int64 = 8 << 20
    /// The length in bytes up to which bodies are stored. Default 64 GiB.
    public var maxSharedSize: Int64 = 64 << 30
    /// The length in bytes of a part of a body, a multiple of 256 KiB.
    package var partSize: Int64 = 8 << 20
    /// The number of concurrent requests that callers wait for, each with an object in memory. Default 64. Further requests wait for a
    /// slot, within ``firstByteTimeout``.
    public var maxReads = 64
    /// The number of parts of bodies that are read concurrently, each in memory.
    package static let maxPartReads = 16
    /// The number of uploads that may wait, each with an open file. Default 256. When there are more, the oldest are dropped.
    public var maxWaitingUploads = 256
    /// The total size in bytes of the uploads that may wait. Default 64 MiB. Running uploads are held in memory.
    public var maxWaitingBytes: Int64 = 64 << 20
    /// The number of concurrent uploads. Default 4.
    public var maxUploads = 4
    /// The number of consecutive failures or slow responses after which the circuit opens for a while. Default 3. A single read time-out is
    /// also enough. A fast read of an object resets the count; smaller requests and uploads do not.
    public var failureLimit = 3
    /// The time to an object after which a response counts as slow. Default 500 ms, or half of ``firstByteTimeout`` if that is longer.
    public var slowResponse: Duration {
        get { chosenSlowResponse ?? max(.milliseconds(500), firstByteTimeout / 2) }
        set { chosenSlowResponse = newValue }
    }
    private var chosenSlowResponse: Duration?
    /// The interval at which this machine polls for invalidations by other machines, with one small request each time. An invalidation
    /// takes effect on disk and in memory within this time. Default 2 s. `nil`: the store is not tested at start-up, and invalidations are
    /// found only by look-ups in the store.
    public var invalidationInterval: Duration? = .seconds(2)
    /// The time for which a machine holds the lease of a URL while it contacts the origin, unless it renews the lease. Other machines wait
    /// for its object. Default 3 s; with zero, every machine contacts the origin.
    public var leaseTime: Duration = .seconds(3)
    /// A file of certificate authorities in PEM format that replaces the system's.
    public var caFile: String?
    /// True to also share responses that belong to an owner, including `private` ones. Default false. The owner is the one that the request
    /// names. Otherwise it is the fingerprint of an `Authorization` field, or of a user without a password, if the request has no other
    /// credentials; keys contain this fingerprint.
    ///
    /// A request without a named owner shares nothing if it has a cookie, a `.netrc`, or a user and a password, or if its key is not its
    /// URL. A `private` response to a request without an owner is never shared.
    public var sharesPrivateResponses = false
    /// The HTTP client, which the cache shuts down when it is closed. By default the store creates two `TransferEngine`s: one for
    /// requests that callers wait for, and one for changes in the background.
    public var transport: (any HTTPTransport)?

    /// The settings for `s3://bucket/prefix`, found as AWS's tools do: by ``S3Location/init(_:)`` and `S3Credentials.found()`, with the
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
