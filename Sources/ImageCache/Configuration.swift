public import DiskStore
public import FoundationEssentials
import Glibc
public import HTTPCaching
public import ImageCodec
public import Logging
public import MemoryCache
public import Transfer

extension DownloadCache {
    /// The settings of a cache, all with defaults.
    public struct Configuration: Sendable {
        /// Capacity, free space, and the lifetime of partials.
        public var store = StoreConfiguration()

        /// The rules of RFC 9111, for one user's cache by default.
        public var rules = CacheRules()

        /// The maximum number of stored variants of one URL (`Vary`, RFC 9111 section 4.1); the least recently used are evicted first.
        /// Default 64. Otherwise a client that invents values could fill the store with variants of one URL.
        public var maxVariants = 64

        /// A store shared with other machines, in which files are looked up before they are requested from the origin. Default: none. The
        /// module `Fleet` sets it.
        package var tier: (any SharedTierConfiguration)?

        /// The transport to the origins. Default: a `TransferEngine` of the cache with the limits below. Another transport has its own
        /// limits; the cache shuts it down when it is closed.
        public var transport: (any HTTPTransport)?

        /// The maximum number of concurrent transfers. Default 64.
        public var maxTransfers = 64

        /// The maximum number of concurrent connections to one origin. Default 16. The cache starts with ``initialTransfersPerHost``
        /// connections and adds more while they increase the total throughput. It reduces them when the origin answers 429 (Too Many
        /// Requests) or 503 (Service Unavailable), or takes much longer to respond.
        public var maxTransfersPerHost = 16

        /// True to adapt the number of concurrent transfers to each origin, as described for ``maxTransfersPerHost``. Default true.
        /// Otherwise, up to ``maxTransfersPerHost`` transfers run from the start, over any number of connections.
        public var adaptsToHosts = true

        /// The initial number of connections to one origin. Default 6, as in browsers.
        public var initialTransfersPerHost = 6

        /// The maximum number of concurrent transfers on a multiplexed connection (HTTP/2). Default 100, but at most ``maxTransfers`` and
        /// the origin's own limit. Each such origin gets one connection.
        public var maxStreamsPerHost = 100

        /// The maximum number of idle connections that are kept for later transfers. Default: ``maxTransfers``, but at least 16.
        public var maxIdleConnections: Int?

        /// True to apply ``maxTransfersPerHost`` to the sum of the transfers of all processes that use the directory and set this. Each
        /// stream of a connection counts. Default false. A transfer that gets no slot within the connect time-out runs without one, because
        /// a stopped process keeps its slots.
        public var sharesHostLimit = false

        /// The maximum number of requests per second to one origin, evenly spread. Redirects and retries count. Default: unlimited.
        public var maxRequestsPerSecond: Double?

        /// The maximum number of concurrent transfers for one ``FileRequest/client``. Default: unlimited.
        public var maxTransfersPerClient: Int?

        /// The way to connect to origins: version of the Internet Protocol, addresses, interface. Default: the system's.
        public var connections = ConnectionOptions()

        /// The addresses to which connections are allowed. Default: any. A service whose clients choose the URLs needs
        /// ``AddressPolicy/publicOnly(except:where:)``.
        public var addressPolicy = AddressPolicy.any

        /// True to use `stale-while-revalidate` (RFC 5861 section 3): requests get the stale file, and a fresh one is fetched in the
        /// background. Default true. Set it to false in a process that ends right after the request.
        public var revalidatesInBackground = true

        /// True to delete files of killed processes in the background, at most once a day. Default true.
        public var sweepsInBackground = true

        /// True to resume incomplete sets of pins in the background while the cache is open, and to refresh sets with an interval
        /// (``PinOptions/refreshInterval``), including sets of other processes. Failed sets are retried after a minute, then with
        /// increasing delays. Default true.
        public var keepsPins = true

        /// The limits of the memory cache of images and thumbnails. Default: 100 MiB, purged to 60 MiB.
        public var memory = MemoryCacheLimits.default

        /// The limits of the memory cache of responses of at most 256 KiB, which ``DownloadCache/hotResponse(for:)`` returns. Default:
        /// 32 MiB, purged to 24 MiB. Only ``DownloadCache/forward(_:)`` fills it.
        public var hotResponses = MemoryCacheLimits.hotResponses

        /// The limits of the memory cache of decoded values (``DownloadCache/value(for:as:version:cost:decode:)``) and of look-ups of files
        /// of at most 256 KiB. Default: 32 MiB, purged to 24 MiB.
        public var values = MemoryCacheLimits.hotResponses

        /// The maximum size in bytes of a body that is decoded to a value. Default 64 MiB.
        public var maxValueSize: Int64 = 64 << 20

        /// The application's version. Values that were stored by another version are not used, and are removed when the cache is opened.
        /// Default: none, which differs from every version.
        public var applicationVersion: String?

        /// True to purge images from memory when the system or the control group runs short of memory. Default true.
        public var watchesMemoryPressure = true

        /// The application's decoders for further formats, in the order in which they are tried. Default: none.
        public var decoders: [any ImageDecoding] = []

        /// Decodes, resizes, applies effects and encodes in worker processes, to isolate untrusted files. Default: none; all of it runs in
        /// this process.
        public var decoderIsolation: DecoderIsolation?

        /// The maximum number of images that are decoded concurrently. Default: the number of processors.
        public var maxDecodes = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))

        /// The maximum number of images decoded concurrently for one ``FileRequest/client`` while others wait. Default: a quarter of
        /// ``maxDecodes``, but at least 1.
        public var maxDecodesPerClient: Int?

        /// The memory limit of concurrent decodes in bytes. A decode that needs more runs alone. Default 512 MiB.
        public var decodingMemory = 512 << 20

        /// The wall clock for freshness.
        public var now: @Sendable () -> Date = { Date() }

        /// Receives warnings, such as about a damaged index or a store that cannot be written.
        public var logger = Logger(label: "imgcache")

        public init() { logger.logLevel = .warning }
    }

    /// `$IMGCACHE_DIR`, otherwise `$XDG_CACHE_HOME/imgcache`, otherwise `~/.cache/imgcache`. Without a home directory,
    /// `/var/tmp/imgcache-UID`, which is refused if it belongs to another user.
    ///
    /// A relative `$XDG_CACHE_HOME` is ignored, as required by the XDG Base Directory Specification.
    public static var defaultDirectory: String {
        func environment(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        if let directory = environment("IMGCACHE_DIR") { return directory }
        if let base = environment("XDG_CACHE_HOME"), base.hasPrefix("/") { return base + "/imgcache" }
        if let home = environment("HOME") { return home + "/.cache/imgcache" }
        return directoryWithoutHome
    }

    /// The default without a home directory. Its folder belongs to everybody, so that another user may have made it.
    static var directoryWithoutHome: String { "/var/tmp/imgcache-\(getuid())" }

    /// Makes a directory in a folder that belongs to everybody, or finds the one that this user has made.
    ///
    /// - Throws: `store(notWritable)` if it belongs to another user, or others may write to it: its files could be anybody's.
    static func takeSharedName(_ path: String, creating: Bool) throws(ImageCacheError) {
        if creating, mkdir(path, 0o700) == 0 { return }
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw ImageCacheError(
                .store(.notWritable), path: path,
                message: "\(path) belongs to another user, or others may write to it; set HOME or IMGCACHE_DIR")
        }
    }
}

extension MemoryCacheLimits {
    /// 32 MiB, purged to 24 MiB.
    fileprivate static var hotResponses: MemoryCacheLimits {
        (try? MemoryCacheLimits(capacity: 32 << 20, preferredUsage: 24 << 20)) ?? .default
    }
}
