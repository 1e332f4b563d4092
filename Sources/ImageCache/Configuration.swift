public import DiskStore
public import FoundationEssentials
import Glibc
public import HTTPCaching
public import ImageCodec
public import Logging
public import MemoryCache
public import RemoteStore
public import Transfer

extension DownloadCache {
    /// The settings of a cache. Every value has a sensible default.
    public struct Configuration: Sendable {
        /// Capacity, free space, and the life of partials.
        public var store = StoreConfiguration()

        /// The rules of RFC 9111, for one user's cache by default.
        public var rules = CacheRules()

        /// The most variants of one URL that are kept (`Vary`, RFC 9111 section 4.1); the longest unused are evicted first. Default 64.
        public var maxVariants = 64

        /// A store that several machines share: what is not on the disk is looked for there before the origin is asked. Default: none. See
        /// <doc:Fleet>.
        public var remote: RemoteStoreConfiguration?

        /// The client that reaches the origins. Default: a `TransferEngine` of the cache's own, within the limits below. Another
        /// transport has limits of its own; the cache shuts it down when it is closed.
        public var transport: (any HTTPTransport)?

        /// Transfers at once, in all. Default 64.
        public var maxTransfers = 64

        /// Connections at once to one origin. Default 16. They begin with ``initialTransfersPerHost``, and grow in number while that
        /// makes the transfers faster together; they become fewer when the origin answers 429 (Too Many Requests) or 503 (Service
        /// Unavailable), or its responses take much longer to begin.
        public var maxTransfersPerHost = 16

        /// Finds out how many transfers an origin serves at once, as ``maxTransfersPerHost`` says. Default true. Otherwise there are
        /// ``maxTransfersPerHost`` of them from the beginning, on whatever connections.
        public var adaptsToHosts = true

        /// Connections to one origin with which transfers begin. Default 6, as browsers have it.
        public var initialTransfersPerHost = 6

        /// Transfers at once on a connection that carries several (HTTP/2). Default 100, and never more than ``maxTransfers`` or than the
        /// origin allows. One connection to each such origin is used.
        public var maxStreamsPerHost = 100

        /// Connections that are kept for later transfers. Default ``maxTransfers``, at least 16.
        public var maxIdleConnections: Int?

        /// Counts the transfers of all processes on the cache's directory that set this against ``maxTransfersPerHost``, each stream of
        /// a connection by itself. Default false. Who finds no place for as long as it may take to connect goes on without one: a
        /// process that was stopped keeps its places.
        public var sharesHostLimit = false

        /// Requests to one origin that begin within a second, evenly spread; those of redirects and further attempts count too. Default:
        /// no limit.
        public var maxRequestsPerSecond: Double?

        /// Transfers at once for one ``FileRequest/client``. Default: no limit but the others.
        public var maxTransfersPerClient: Int?

        /// The addresses that may be connected to. Default: any. A service whose clients choose the URLs needs
        /// ``AddressPolicy/publicOnly(except:where:)``.
        public var addressPolicy = AddressPolicy.any

        /// Uses `stale-while-revalidate` (RFC 5861 section 3): the stale file at once, a fresh one in the background. Default true. A
        /// process that ends right after the request needs `false`.
        public var revalidatesInBackground = true

        /// Deletes the files that killed processes left behind, in the background, at most once a day. Default true.
        public var sweepsInBackground = true

        /// Goes on with pins in the background as long as the cache is open: with what an earlier process left undone, and with the
        /// refreshing of sets that have an interval (``PinOptions/refreshInterval``), also if another process made them. What fails is
        /// tried again after a minute, then ever more rarely. Default true.
        public var keepsPins = true

        /// The memory cache of images and thumbnails: 100 MiB, purged to 60 MiB by default.
        public var memory = MemoryCacheLimits.default

        /// The memory cache of responses of at most 256 KiB for ``DownloadCache/hotResponse(for:)``: 32 MiB, purged to 24 MiB by default,
        /// and empty as long as nobody calls ``DownloadCache/forward(_:)``.
        public var hotResponses = MemoryCacheLimits.hotResponses

        /// The memory cache of decoded values (``DownloadCache/value(for:as:version:cost:decode:)``), and of the look-ups of files of at most
        /// 256 KiB: 32 MiB, purged to 24 MiB by default.
        public var values = MemoryCacheLimits.hotResponses

        /// Bytes of a body that a value may be made of. Default 64 MiB.
        public var maxValueSize: Int64 = 64 << 20

        /// The application's version. Values that another version stored are not used, and are removed when the cache is opened. Default:
        /// none, which is a version too.
        public var applicationVersion: String?

        /// Purges images from memory when the system, or the control group, runs short of it. Default true.
        public var watchesMemoryPressure = true

        /// The application's decoders for formats that the package does not read, in the order in which they are asked. Default: none.
        public var decoders: [any ImageDecoding] = []

        /// Decoding, resizing, effects and encoding in processes of their own, for files from strangers. Default: none, which is in this
        /// process.
        public var decoderIsolation: DecoderIsolation?

        /// Images decoded at a time. Default: the number of processors.
        public var maxDecodes = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))

        /// Images decoded at a time for one ``FileRequest/client`` while others wait. Default: a quarter, at least 1.
        public var maxDecodesPerClient: Int?

        /// Bytes of memory that concurrent decodes may take together; one that alone takes more runs alone. Default 512 MiB.
        public var decodingMemory = 512 << 20

        /// The wall clock by which freshness is computed.
        public var now: @Sendable () -> Date = { Date() }

        /// Receives warnings: a damaged index, a store that cannot be written.
        public var logger = Logger(label: "imgcache")

        public init() { logger.logLevel = .warning }
    }

    /// `$IMGCACHE_DIR`, else `$XDG_CACHE_HOME/imgcache`, else `~/.cache/imgcache`.
    ///
    /// An `$XDG_CACHE_HOME` that is not absolute is ignored, as the XDG Base Directory Specification demands.
    public static var defaultDirectory: String {
        func environment(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        if let directory = environment("IMGCACHE_DIR") { return directory }
        if let base = environment("XDG_CACHE_HOME"), base.hasPrefix("/") { return base + "/imgcache" }
        if let home = environment("HOME") { return home + "/.cache/imgcache" }
        return "/var/tmp/imgcache-\(getuid())"
    }
}

extension MemoryCacheLimits {
    /// 32 MiB, purged to 24 MiB.
    fileprivate static var hotResponses: MemoryCacheLimits {
        (try? MemoryCacheLimits(capacity: 32 << 20, preferredUsage: 24 << 20)) ?? .default
    }
}
