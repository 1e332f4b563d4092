import ImageCache
import Logging

/// `imgcache fetch URL`, with nothing that changes how it is answered: what scripts call most, often for a file that is
/// cached and fresh. That hit is answered before the command line's parser is set up, which takes as long as all the rest
/// of it. Everything else goes the usual way.
struct PlainFetch: Equatable {
    let url: String
    let directory: String?
    let isQuiet: Bool

    /// `nil` for any other command line: an unknown option, a second URL, none.
    init?(arguments: some Sequence<String>) {
        var arguments = arguments.makeIterator()
        guard arguments.next() == "fetch" else { return nil }
        var url: String?
        var directory: String?
        var isQuiet = false
        while let argument = arguments.next() {
            switch argument {
            case "-q", "--quiet": isQuiet = true
            case "--cache-dir":
                guard directory == nil, let value = arguments.next(), !value.isEmpty, !value.hasPrefix("-") else {
                    return nil
                }
                directory = value
            default:
                guard !argument.hasPrefix("-"), url == nil else { return nil }
                url = argument
            }
        }
        guard let url else { return nil }
        self.url = url
        self.directory = directory
        self.isQuiet = isQuiet
    }

    /// Prints the path if the file is stored and fresh. `false`: nothing was printed, and whatever is wrong shows when it
    /// is done the usual way.
    func printStoredFile() -> Bool {
        var configuration = DownloadCache.Configuration()
        configuration.rules = CachingOptions.rules
        guard let keys = try? KeyRules(directory: directory ?? DownloadCache.defaultDirectory) else { return false }
        configuration.rules.keys = keys
        if isQuiet { configuration.logger.logLevel = .critical }
        guard let cache = try? DownloadCache(directory: directory, configuration: configuration),
            let file = try? cache.storedFile(for: FileRequest(url))
        else { return false }
        Output.line(file.path)
        return true
    }
}
