import ArgumentParser
import ImageCache
import Logging

/// The options of commands that contact servers for more than the named files.
struct RemoteOptions: ParsableArguments {
    @OptionGroup(title: "Request")
    var request: RequestOptions

    @OptionGroup(title: "Cache")
    var whose: OwnerOptions

    @OptionGroup(title: "Store")
    var store: StoreOptions

    @OptionGroup(title: "Messages")
    var messages: MessageOptions

    func validate() throws {
        guard request.sha256 == nil else { throw ValidationError("--sha256 goes with fetch only.") }
    }

    /// The request without a URL, common to all requests of the run.
    func template() throws -> FileRequest { try request.template(owner: whose.owner, isTraced: messages.verbose) }

    /// Opens the cache configured by the options.
    func openCache(parallel: Int?, further: Int = 0) throws -> DownloadCache {
        var rules = CachingOptions.rules
        rules.keys = try KeyRules(directory: store.directory)
        let configuration = DownloadCache.Configuration(
            parallel: parallel, further: further, rules: rules, request, store, isQuiet: messages.quiet)
        let cache = try DownloadCache.opened(in: store.directory, configuration)
        try cache.keepWithinSmallerCapacity(quietly: messages.quiet)
        return cache
    }
}
