import ArgumentParser
import Fleet
import ImageCache
import Logging
import ProcessLimits
import Units

/// The options of all commands that fetch URLs.
struct FetchingOptions: ParsableArguments {
    @OptionGroup(title: "Request")
    var request: RequestOptions

    @OptionGroup(title: "Cache")
    var caching: CachingOptions

    @OptionGroup(title: "Cache")
    var keys: KeyOptions

    @OptionGroup(title: "Cache")
    var whose: OwnerOptions

    @OptionGroup(title: "Cache")
    var remote: RemoteStoreOptions

    @OptionGroup(title: "Store")
    var store: StoreOptions

    @OptionGroup(title: "Messages")
    var messages: MessageOptions

    /// Throws for options that are valid for a single URL only, if there are several.
    ///
    /// - Parameters:
    ///   - named: The URLs on the command line.
    ///   - several: The other sources of URLs.
    ///   - file: The value of `-o`.
    ///   - noun: The kind of argument that `-o` is limited to one of.
    func validate(
        _ named: [String], _ batch: BatchOptions, output file: String?, takes noun: String
    ) throws {
        let isOne = named.count == 1 && batch.inputFile == nil
        guard file == nil || isOne else { throw ValidationError("-o allows only one \(noun); use -d DIR for several.") }
        guard file?.isEmpty != true else { throw ValidationError("-o expects a file name.") }
        guard request.sha256 == nil || isOne else { throw ValidationError("--sha256 allows only one URL.") }
        guard keys.key == nil || isOne else { throw ValidationError("--key allows only one URL.") }
    }

    /// Opens the cache configured by the options.
    ///
    /// - Parameters:
    ///   - parallel: The value of `-j`.
    ///   - further: The number of transfers beyond it.
    ///   - directory: The directory of a fallback cache, limited only by the disk, instead of the configured one.
    ///   - readOnly: True to open it without writing.
    ///   - holdingFiles: True if delivered files remain in the store until the cache is closed.
    func openCache(
        parallel: Int? = nil, further: Int = 0, in directory: String? = nil, readOnly: Bool = false,
        holdingFiles: Bool = false, isolation: DecoderIsolation? = nil
    ) throws -> DownloadCache {
        var rules = caching.rules
        rules.keys = try keys.rules(in: store.directory)
        var configuration = DownloadCache.Configuration(
            parallel: parallel, further: further, rules: rules, request, store, isQuiet: messages.quiet)
        if directory != nil { configuration.store.capacity = 1 << 60 }
        configuration.decoderIsolation = isolation
        configuration.store.isReadOnly = readOnly
        configuration.store.holdsBodies = holdingFiles && !readOnly
        if directory == nil, !readOnly { configuration.remote = remote.configuration(quietly: messages.quiet) }
        let cache = try DownloadCache.opened(in: directory ?? store.directory, configuration)
        if directory == nil { try cache.keepWithinSmallerCapacity(quietly: messages.quiet) }
        return cache
    }
}

extension RequestOptions {
    /// The time to wait for another process that is changing the store: the connect time-out, if it is shorter than the store's own
    /// time-out.
    var storeTimeout: Duration {
        let times = [connectTimeout?.duration, maxTime?.duration].compactMap { $0 }
        return times.reduce(StoreConfiguration().busyTimeout, min)
    }
}

extension DownloadCache.Configuration {
    /// The configuration of a process that ends with its command.
    static var command: Self {
        var configuration = Self()
        // There is no background revalidation. Stale responses are revalidated first, and used if that fails.
        configuration.revalidatesInBackground = false
        // A fetch resumes pins itself, and does not wait for them.
        configuration.keepsPins = false
        configuration.hotResponses = .zero
        return configuration
    }

    /// The configuration of a command that exits after its responses.
    init(
        parallel: Int?, further: Int = 0, rules: CacheRules, _ request: RequestOptions, _ store: StoreOptions,
        isQuiet: Bool
    ) {
        self = .command
        connections = request.connections
        self.store.capacity = store.requestedCapacity
        self.store.discardsNewer = store.discardsNewer
        self.store.busyTimeout = request.storeTimeout
        self.rules = rules
        // The URLs of a list usually have one host, which may use all transfers.
        let most = DescriptorLimit.transfers()
        maxTransfers = min(parallel ?? BatchOptions.usual, most) + further
        maxTransfersPerHost = min(parallel ?? BatchOptions.usualConnections, most) + further
        initialTransfersPerHost = 8
        if isQuiet { logger.logLevel = .critical }
    }
}
