import FoundationEssentials
import HTTPServer
import ImageCache
import ImageProxy
import Logging

/// The server's configuration. Each value is a setting of ``Setting/all``, which defines its name on the command line,
/// in the environment and in the configuration file.
struct ServerConfiguration: Sendable {
    // The origins and the listeners.
    /// The URL of the origin without a pattern; if empty, there is none.
    var origin = ""
    /// The origins of the configuration file.
    var origins: [NamedOrigin] = []
    var listen = ListenAddress(host: "127.0.0.1", port: 8080)
    /// Host names of the service in addition to those in the origins' patterns: `host` or `host:port`, with a leading `*.` for all
    /// subdomains.
    var publicHosts: [String] = []
    /// `nil` disables the admin listener.
    var admin: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 8081)

    /// Host names that the admin listener accepts in addition to its own, `localhost` and addresses.
    var adminHosts: [String] = []

    // The cache.
    var cacheDirectory = DownloadCache.defaultDirectory
    /// The capacity in bytes, or nil for the store's default.
    var capacity: Int64?
    var discardsNewer = false
    var memoryCapacity: Int64 = 100 << 20
    /// The maximum number of variants (`Vary`) of one URL.
    var maxVariants = 64

    // The origin.
    var originConnections = 64
    /// The limit for one client, or nil for a quarter.
    var originConnectionsPerClient: Int?
    var originConnectTimeout: Duration = .seconds(10)
    var originTimeout: Duration = .seconds(30)
    /// The number of further attempts without progress after the first one.
    var originRetries = 2
    /// The greatest size of an origin's response in bytes, or nil for no limit.
    var maxResponseSize: Int64?
    var viaName = "imgcache"
    var requestIDHeader = "X-Request-Id"
    var tellsClient = false
    /// Fields of requests to the origin, which replace clients' fields.
    var setFields: [String: String] = [:]
    /// Names of client fields that are not forwarded.
    var droppedFields: [String] = []
    /// Fields to set in responses to clients, instead of the origin's and the service's.
    var setResponseFields: [String: String] = [:]
    /// Names of fields that are removed from responses to clients.
    var droppedResponseFields: [String] = []
    /// The number of failures after which the affected clients are refused, or 0 for never.
    var breakerFailures = 10
    /// The initial time for which an origin's circuit stays open.
    var breakerPause: Duration = .seconds(1)
    /// The endpoint of an origin that is a bucket, or nil to find it as AWS's tools do.
    var s3Endpoint: String?
    var s3Region: String?
    var s3Profile: String?
    var s3CredentialsFile: String?
    /// Names of fields with client assertions that are forwarded nevertheless.
    var passedFields: [String] = []
    /// Paths of health checks on the port of clients.
    var healthPath: String?
    var readyPath: String?
    /// Lifetimes of the origin's responses; zero: none.
    var defaultLifetime: Duration = .zero
    var shortestLifetime: Duration = .zero
    var longestLifetime: Duration = .zero
    var staleLifetime: Duration = .zero
    /// Lifetimes for some statuses and paths, by the text of their pattern.
    var lifetimeRules: [String: LifetimeRuleSetting] = [:]
    var overridesPrivate = false
    /// Lifetimes to send to clients for images; zero: the original's.
    var imageMaxAge: Duration = .zero
    var imageStaleWhileRevalidate: Duration = .zero
    var forwardsPurge = false
    var announcesControlFiles = false
    var tellsTiming = false
    /// Query parameters that are part of a signature, in addition to the built-in list.
    var signatureParameters: [String] = []
    /// Query parameters that are removed from the key; `*` matches any text.
    var ignoredParameters: [String] = []
    /// Hosts whose signed URLs share the key of the unsigned URL.
    var signedHosts: [String] = []

    // Other machines.
    /// The store shared with other machines, as `s3://bucket/prefix`.
    var remote: String?
    var remotePrivate = false
    var remoteConnectTimeout: Duration = .milliseconds(200)
    var remoteTimeout: Duration = .seconds(1)
    var remoteInvalidationInterval: Duration = .seconds(2)
    var remoteLeaseTime: Duration = .seconds(3)
    var remoteUploads = 4
    var remoteQueueLength = 256
    var remoteQueueBytes: Int64 = 64 << 20

    // Traces.
    var otlpEndpoint: String?
    var otlpFields: [String: String] = [:]
    /// The share of requests that are traced.
    var traceSampling = 0.01

    // Images.
    /// Other hosts of originals: `host` or `host:port`, with a leading `*.` for all subdomains.
    var allowedHosts: [String] = []
    /// The options in image URLs.
    var imageOptions = ImageOptionSettings()
    /// Files with the keys for signed image URLs. If empty, signatures are not required.
    var signingKeyFiles: [String] = []
    /// The other service whose image URLs are read as well, and the file with its keys.
    var urlStyle: String?
    var urlStyleKeys: String?
    var maxImageBytes: Int64 = 64 << 20
    var maxPixels = 100_000_000
    var maxFrames = 1_000
    var maxAnimationPixels = 250_000_000
    var maxAnimationDuration: Duration = .seconds(600)
    var imageTimeout: Duration = .seconds(30)
    var decoderIsolation = DecoderIsolationMode.on
    var damagedImages = DamagedImages.serve
    var svg = SVGHandling.refuse
    /// `FILE` or `STATUS:FILE`: images that are sent for errors.
    var fallbackImages: [FallbackSetting] = []
    /// The time for which a failing original is not requested again.
    var negativeLifetime: Duration = .seconds(10)
    /// The limit for one client while others wait, or nil for a quarter.
    var decodesPerClient: Int?

    // Limits.
    var maxURLLength = 8 << 10
    var maxHeaderSize: Int64 = 8 << 10
    var maxHeaderFields = 100
    var maxRequestBody: Int64 = 16 << 20
    var maxRequestBodies: Int64 = 256 << 20
    /// The limits for one client, or nil for a quarter.
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
    var messages = MessageLog.Options(level: .info, format: .text)
    /// The token required for purging, or nil if purging is disabled.
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
