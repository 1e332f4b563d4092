import FoundationEssentials
import HTTPServer
import ImageCache
import ImageProxy
import Logging

/// The server's configuration. Each value is a setting of ``Setting/all``, which names it for the command line, the environment
/// and the configuration file alike.
struct ServerConfiguration: Sendable {
    // What is served.
    var origin = ""
    var listen = ListenAddress(host: "127.0.0.1", port: 8080)
    /// Nil: no admin listener.
    var admin: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 8081)

    /// Names that the admin listener answers to beside its own, `localhost` and addresses.
    var adminHosts: [String] = []

    // The cache.
    var cacheDirectory = DownloadCache.defaultDirectory
    /// Bytes on disk; nil: the store's own default.
    var capacity: Int64?
    var memoryCapacity: Int64 = 100 << 20
    /// Responses of one URL that are kept side by side (`Vary`).
    var maxVariants = 64

    // The origin.
    var originConnections = 64
    /// Of one client; nil: a quarter.
    var originConnectionsPerClient: Int?
    var originConnectTimeout: Duration = .seconds(10)
    var originTimeout: Duration = .seconds(30)
    /// Attempts without progress after the first.
    var originRetries = 2
    /// Bytes of one answer of an origin; nil: any number.
    var maxResponseSize: Int64?
    var viaName = "imgcache"
    var requestIDHeader = "X-Request-Id"
    var tellsClient = false
    /// Fields in which clients assert something about their requests, that are passed on all the same.
    var passedFields: [String] = []
    var tellsTiming = false
    /// Query parameters that are part of a signature, beside those that are known.
    var signatureParameters: [String] = []
    /// Query parameters that are left out of the key, `*` for any text.
    var ignoredParameters: [String] = []
    /// Hosts whose signed URLs have the key of the URL without its signature.
    var signedHosts: [String] = []

    // Images.
    /// Other hosts that images may come from: `host` or `host:port`, a leading `*.` for all below it.
    var allowedHosts: [String] = []
    /// The widths that may be asked for, in pixels; empty: any.
    var widths: [Int] = []
    /// Files with the keys that images' URLs must be signed with; none: they need no signature.
    var signingKeyFiles: [String] = []
    var maxImageBytes: Int64 = 64 << 20
    var maxPixels = 100_000_000
    var imageTimeout: Duration = .seconds(30)
    var damagedImages = DamagedImages.serve
    /// Of one client while others wait; nil: a quarter.
    var decodesPerClient: Int?

    // Limits.
    var maxURLLength = 8 << 10
    var maxHeaderSize: Int64 = 8 << 10
    var maxHeaderFields = 100
    var maxRequestBody: Int64 = 16 << 20
    var maxRequestBodies: Int64 = 256 << 20
    /// Shares of one client; nil: a quarter.
    var maxRequestBodiesPerClient: Int64?
    var maxConnections = 8192
    var maxConnectionsPerClient: Int?
    var maxRequests = 1024
    var maxRequestsPerClient: Int?
    var queueLength = 1024
    var queueLengthPerClient: Int?
    var retryAfter = 1
    /// Blocks of addresses of proxies in front of the service.
    var trustedProxies: [String] = []

    // Time.
    var headerTimeout: Duration = .seconds(15)
    var bodyTimeout: Duration = .seconds(30)
    /// Bytes a second.
    var minRequestRate: Int64 = 1 << 10
    var idleTimeout: Duration = .seconds(75)
    var writeTimeout: Duration = .seconds(60)
    var minResponseRate: Int64 = 4 << 10
    var gracePeriod: Duration = .seconds(30)

    // Running it.
    var threads = System.cores
    var accessLog = AccessLog.Destination.standardOutput
    var logLevel = Logger.Level.info
    /// The token that purging needs; nil: nobody may purge.
    var adminToken: String?
    /// A file that holds the token.
    var adminTokenFile: String?

    init() {}
}

/// The machine.
enum System {
    /// Processors that this process may use.
    static let cores = max(1, ProcessInfo.processInfo.activeProcessorCount)
}
