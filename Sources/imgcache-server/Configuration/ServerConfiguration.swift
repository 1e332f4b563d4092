import FoundationEssentials
import HTTPServer
import ImageCache
import ImageProxy
import Logging

/// The server's configuration. Each value is a setting of ``Setting/all``, which defines its name on the command line,
/// in the environment and in the configuration file.
struct ServerConfiguration: Sendable {
    // The origins and the listeners.
    /// The URL of the origin that has no pattern; empty: none.
    var origin = ""
    /// The origins of the configuration file.
    var origins: [NamedOrigin] = []
    var listen = ListenAddress(host: "127.0.0.1", port: 8080)
    /// Host names of the service in addition to those of the origins' patterns: `host` or `host:port`, a leading `*.` for all subdomains.
    var publicHosts: [String] = []
    /// nil: no admin listener.
    var admin: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 8081)

    /// Host names that the admin listener accepts in addition to its own, `localhost` and addresses.
    var adminHosts: [String] = []

    // The cache.
    var cacheDirectory = DownloadCache.defaultDirectory
    /// The capacity in bytes; nil: the store's own default.
    var capacity: Int64?
    var discardsNewer = false
    var memoryCapacity: Int64 = 100 << 20
    /// The number of variants (`Vary`) of one URL.
    var maxVariants = 64

    // The origin.
    var originConnections = 64
    /// The limit for one client; nil: a quarter.
    var originConnectionsPerClient: Int?
    var originConnectTimeout: Duration = .seconds(10)
    var originTimeout: Duration = .seconds(30)
    /// The number of attempts without progress after the first.
    var originRetries = 2
    /// The size of an origin's response in bytes; nil: unlimited.
    var maxResponseSize: Int64?
    var viaName = "imgcache"
    var requestIDHeader = "X-Request-Id"
    var tellsClient = false
    /// Fields of requests to the origin, in place of clients'.
    var setFields: [String: String] = [:]
    /// Names of clients' fields that are not forwarded.
    var droppedFields: [String] = []
    /// Fields of responses to clients, in place of the origin's and the service's.
    var setResponseFields: [String: String] = [:]
    /// Names of fields that responses to clients do not have.
    var droppedResponseFields: [String] = []
    /// Failures after which the clients concerned are refused; 0: never.
    var breakerFailures = 10
    /// The time for which it is left alone at first.
    var breakerPause: Duration = .seconds(1)
    /// The store of an origin that is a bucket; nil: as AWS's tools find it.
    var s3Endpoint: String?
    var s3Region: String?
    var s3Profile: String?
    var s3CredentialsFile: String?
    /// Names of fields in which clients make assertions about their requests, and which are forwarded nevertheless.
    var passedFields: [String] = []
    var tellsTiming = false
    /// Query parameters that are part of a signature, in addition to the known ones.
    var signatureParameters: [String] = []
    /// Query parameters that are left out of the key, `*` for any text.
    var ignoredParameters: [String] = []
    /// Hosts whose signed URLs have the key of the URL without its signature.
    var signedHosts: [String] = []

    // Other machines.
    /// The store that is shared with them, as `s3://bucket/prefix`.
    var remote: String?
    var remotePrivate = false
    var remoteConnectTimeout: Duration = .milliseconds(200)
    var remoteTimeout: Duration = .seconds(1)
    var remoteInvalidationInterval: Duration = .seconds(2)
    var remoteLeaseTime: Duration = .seconds(3)
    var remoteUploads = 4
    var remoteQueueLength = 256
    var remoteQueueBytes: Int64 = 64 << 20

    // Images.
    /// Other hosts of originals: `host` or `host:port`, a leading `*.` for all subdomains.
    var allowedHosts: [String] = []
    /// The options of images' URLs.
    var imageOptions = ImageOptionSettings()
    /// Files with the keys for signed image URLs; none: signatures are not required.
    var signingKeyFiles: [String] = []
    var maxImageBytes: Int64 = 64 << 20
    var maxPixels = 100_000_000
    var maxFrames = 1_000
    var maxAnimationPixels = 250_000_000
    var maxAnimationDuration: Duration = .seconds(600)
    var imageTimeout: Duration = .seconds(30)
    var decoderIsolation = DecoderIsolationMode.on
    var damagedImages = DamagedImages.serve
    var svg = SVGHandling.refuse
    /// `FILE` or `STATUS:FILE`: images in place of errors.
    var fallbackImages: [FallbackSetting] = []
    /// The time for which a failing original is not asked for again.
    var negativeLifetime: Duration = .seconds(10)
    /// The limit for one client while others wait; nil: a quarter.
    var decodesPerClient: Int?

    // Limits.
    var maxURLLength = 8 << 10
    var maxHeaderSize: Int64 = 8 << 10
    var maxHeaderFields = 100
    var maxRequestBody: Int64 = 16 << 20
    var maxRequestBodies: Int64 = 256 << 20
    /// The shares of one client; nil: a quarter.
    var maxRequestBodiesPerClient: Int64?
    var maxConnections = 8192
    var maxConnectionsPerClient: Int?
    var maxRequests = 1024
    var maxRequestsPerClient: Int?
    var queueLength = 1024
    var queueLengthPerClient: Int?
    var retryAfter = 1
    /// Address blocks of proxies in front of the service.
    var trustedProxies: [String] = []

    // Time.
    var headerTimeout: Duration = .seconds(15)
    var bodyTimeout: Duration = .seconds(30)
    /// In bytes a second.
    var minRequestRate: Int64 = 1 << 10
    var idleTimeout: Duration = .seconds(75)
    var writeTimeout: Duration = .seconds(60)
    var minResponseRate: Int64 = 4 << 10
    var gracePeriod: Duration = .seconds(30)

    // Operation.
    var threads = System.cores
    var accessLog = AccessLog.Destination.standardOutput
    var logLevel = Logger.Level.info
    /// The token required for purging; nil: purging is disabled.
    var adminToken: String?
    /// A file with the token.
    var adminTokenFile: String?

    init() {}
}

/// The machine.
enum System {
    /// The number of processors that this process may use.
    static let cores = max(1, ProcessInfo.processInfo.activeProcessorCount)
}
