import ArgumentParser
import ImageCache
import Logging

/// The options of commands that ask servers for more than the files that a command line names.
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

    /// The request that all of the run's have in common.
    func template() throws -> FileRequest {
        var template = FileRequest("")
        template.owner = whose.owner
        template.fields = RequestOptions.fields(request.headers)
        template.transfer = try request.transferOptions()
        if messages.verbose {
            template.trace = { head in
                Output.message(head.split(separator: "\n").map { "\(String($0).forTerminal)\n" }.joined())
            }
        }
        return template
    }

    func openCache(transfers: Int) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration()
        configuration.store.capacity = store.requestedCapacity
        configuration.maxTransfers = transfers
        configuration.maxTransfersPerHost = transfers
        configuration.revalidatesInBackground = false
        configuration.rules = CachingOptions.rules
        if messages.quiet { configuration.logger.logLevel = .critical }
        let cache = try DownloadCache(directory: store.directory, configuration: configuration)
        try cache.keepWithinSmallerCapacity(quietly: messages.quiet)
        return cache
    }
}
