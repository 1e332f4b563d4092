import ArgumentParser
import ImageCache
import Logging

/// The options of every command that gets what URLs name.
struct FetchingOptions: ParsableArguments {
    @OptionGroup(title: "Request")
    var request: RequestOptions

    @OptionGroup(title: "Cache")
    var caching: CachingOptions

    @OptionGroup(title: "Cache")
    var keys: KeyOptions

    @OptionGroup(title: "Cache")
    var whose: OwnerOptions

    @OptionGroup(title: "Store")
    var store: StoreOptions

    @OptionGroup(title: "Messages")
    var messages: MessageOptions

    /// Refuses options that go with one URL only, where there are several.
    ///
    /// - Parameters:
    ///   - named: what the command line names.
    ///   - several: what else there is.
    ///   - file: where `-o` puts it.
    ///   - noun: what `-o` takes one of.
    func validate(
        _ named: [String], _ several: SeveralOptions, output file: String?, takes noun: String
    ) throws {
        let isOne = named.count == 1 && several.inputFile == nil
        guard file == nil || isOne else { throw ValidationError("-o takes one \(noun); use -d DIR for several.") }
        guard file?.isEmpty != true else { throw ValidationError("-o takes the name of a file.") }
        guard request.sha256 == nil || isOne else { throw ValidationError("--sha256 takes one URL.") }
        guard keys.key == nil || isOne else { throw ValidationError("--key takes one URL.") }
    }

    /// The cache that the options describe.
    ///
    /// - Parameters:
    ///   - transfers: how many at once.
    ///   - directory: a side cache there, as large as the disk, in place of the one that they name.
    ///   - readOnly: without writing anything.
    ///   - holdingFiles: whether files that are handed out stay in the store until the cache is closed.
    func openCache(
        transfers: Int = SeveralOptions.usual, in directory: String? = nil, readOnly: Bool = false,
        holdingFiles: Bool = false
    ) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration()
        configuration.store.capacity = directory == nil ? store.wantedCapacity : 1 << 60
        configuration.store.isReadOnly = readOnly
        configuration.store.holdsBodies = holdingFiles && !readOnly
        // One host is the usual case of a list: let it use all that was asked for.
        configuration.maxTransfers = transfers
        configuration.maxTransfersPerHost = transfers
        // Nothing stays behind to refresh what is stale: the command asks first, and falls back on it.
        configuration.revalidatesInBackground = false
        configuration.rules = caching.rules
        configuration.rules.keys = try keys.rules(in: store.directory)
        if messages.quiet { configuration.logger.logLevel = .critical }
        let cache = try DownloadCache(directory: directory ?? store.directory, configuration: configuration)
        if directory == nil { try cache.keepWithinSmallerCapacity(quietly: messages.quiet) }
        return cache
    }
}
