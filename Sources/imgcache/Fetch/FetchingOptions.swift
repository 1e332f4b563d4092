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
    var whose: OwnerOptions

    @OptionGroup(title: "Store")
    var store: StoreOptions

    @OptionGroup(title: "Messages")
    var messages: MessageOptions

    /// Refuses options that go with one URL only, where there are several.
    ///
    /// - Parameters:
    ///   - named: what the command line names.
    ///   - file: where `-o` puts it.
    ///   - noun: what `-o` takes one of.
    func validate(_ named: [String], output file: String?, takes noun: String) throws {
        let isOne = named.count == 1 && request.inputFile == nil
        guard file == nil || isOne else { throw ValidationError("-o takes one \(noun); use -d DIR for several.") }
        guard request.sha256 == nil || isOne else { throw ValidationError("--sha256 takes one URL.") }
    }

    /// What the command line names, then what `-i` lists.
    func all(_ named: [String]) throws -> [String] {
        try named + (request.inputFile.map { InputList.urls(in: try InputList.read($0)) } ?? [])
    }

    /// The cache that the options describe.
    ///
    /// - Parameters:
    ///   - directory: in place of the one they name.
    ///   - readOnly: without writing anything.
    func openCache(in directory: String? = nil, readOnly: Bool = false) throws -> ImageCache {
        var configuration = ImageCache.Configuration()
        configuration.store.capacity = store.capacity?.bytes
        configuration.store.isReadOnly = readOnly
        // One host is the usual case of a list: let it use all that was asked for.
        configuration.maxTransfers = request.parallel
        configuration.maxTransfersPerHost = request.parallel
        // Nothing stays behind to refresh what is stale: the command asks first, and falls back on it.
        configuration.revalidatesInBackground = false
        if messages.quiet { configuration.logger.logLevel = .critical }
        return try ImageCache(directory: directory ?? store.directory, configuration: configuration)
    }
}
