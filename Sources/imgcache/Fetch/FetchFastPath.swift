import DiskStore
import ImageCache
import Logging

/// The fast path of `imgcache fetch URL` and `imgcache fetch -o FILE URL`: the most frequent calls in scripts, often for a fresh
/// cached file. Such a hit is served before the parser of the command line is set up, which takes as long as everything
/// else. All other calls take the regular path.
struct FetchFastPath: Equatable {
    let url: String
    let directory: String?
    /// The value of `-o`.
    let output: String?
    let isQuiet: Bool

    /// `nil` for any other command line: further options, a second URL, none.
    init?(arguments: some Sequence<String>) {
        var arguments = arguments.makeIterator()
        guard arguments.next() == "fetch" else { return nil }
        var url: String?
        var directory: String?
        var output: String?
        var isQuiet = false
        while let argument = arguments.next() {
            switch argument {
            case "-q", "--quiet": isQuiet = true
            case "--cache-dir":
                guard directory == nil, let value = arguments.next(), !value.isEmpty, !value.hasPrefix("-") else {
                    return nil
                }
                directory = value
            case "-o", "--output":
                guard output == nil, let value = arguments.next(), !value.isEmpty, !value.hasPrefix("-") else {
                    return nil
                }
                output = value
            default:
                guard !argument.hasPrefix("-"), url == nil else { return nil }
                url = argument
            }
        }
        guard let url else { return nil }
        self.url = url
        self.directory = directory
        self.output = output
        self.isQuiet = isQuiet
    }

    /// Delivers the file and prints its path, if it is stored and fresh. `false` if nothing was printed; errors are reported by the
    /// regular path.
    func deliverStoredFile() -> Bool {
        // A pipe or a device may have to wait for its reader.
        if let output, (try? ExportTarget(output).isFile) != true { return false }
        var configuration = DownloadCache.Configuration()
        configuration.keepsPins = false
        configuration.hotResponses = .zero
        configuration.rules = CachingOptions.rules
        guard let keys = try? KeyRules(directory: directory ?? DownloadCache.defaultDirectory) else { return false }
        configuration.rules.keys = keys
        if isQuiet { configuration.logger.logLevel = .critical }
        guard let cache = try? DownloadCache(directory: directory, configuration: configuration),
            let file = try? cache.blocking.storedFile(for: FileRequest(url))
        else { return false }
        if let output {
            guard (try? OutputDestination.check(file: output)) != nil,
                (try? LinkMode.clone.put(file, at: output, overwrite: true)) != nil
            else { return false }
        }
        Output.line(output ?? file.path)
        return true
    }
}
