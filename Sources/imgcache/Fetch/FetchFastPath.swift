import Glibc
import ImageCache
import Logging

/// The fast path of `imgcache fetch URL` and `imgcache fetch -o FILE URL`. These are the most frequent calls in scripts, often for a fresh
/// cached file. Such a hit is served before the command line parser is set up, which takes as long as everything else. All other calls take
/// the regular path.
struct FetchFastPath: Equatable {
    let url: String
    let directory: String?
    /// The value of `-o`.
    let output: String?
    let isQuiet: Bool

    /// `nil` for any other command line, with further options, a second URL or no URL.
    init?(arguments: some Sequence<String>) {
        var arguments = arguments.makeIterator()
        guard arguments.next() == "fetch" else { return nil }
        var url: String?
        var directory: String?
        var output: String?
        var isQuiet = false
        /// Returns false for an option that is given twice, or has no plain value.
        func take(_ value: inout String?) -> Bool {
            guard value == nil, let next = arguments.next(), !next.isEmpty, !next.hasPrefix("-") else { return false }
            value = next
            return true
        }
        while let argument = arguments.next() {
            switch argument {
            case "-q", "--quiet": isQuiet = true
            case "--cache-dir": guard take(&directory) else { return nil }
            case "-o", "--output": guard take(&output) else { return nil }
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

    /// The size limit in bytes of a file that is copied here. The regular path reports the interruption of a longer copy.
    private static let sizeLimit: Int64 = 4 << 20

    /// Delivers the file and prints its path, if it is stored and fresh. `false` if nothing was printed; errors are reported by the
    /// regular path.
    func deliverStoredFile() -> Bool {
        if let output, OutputDestination.file(output, FileWriting(.clone, keepsDate: false)).mayBlock { return false }
        var configuration = DownloadCache.Configuration.command
        configuration.rules = CachingOptions.rules
        // The regular path reports an error in the settings, and sends credentials.
        guard EnvironmentSettings.errors.isEmpty else { return false }
        let settings: Settings?
        do { settings = try Settings.load() } catch { return false }
        if settings?.identifiesUser == true { return false }
        let directory = directory ?? settings?.value(of: "cache-dir")
        let path = directory ?? DownloadCache.defaultDirectory
        // The regular path warns of a directory that others can change.
        guard DirectoryOwnership(of: path)?.concern(for: geteuid()) == nil, let keys = try? KeyRules(directory: path)
        else { return false }
        configuration.rules.keys = keys
        if isQuiet { configuration.logger.logLevel = .critical }
        guard let cache = try? DownloadCache(directory: directory, configuration: configuration),
            let file = try? cache.blocking.storedFile(for: FileRequest(url))
        else { return false }
        if let output {
            guard let mode = settings?.value(of: "link-mode").map({ LinkMode(rawValue: $0) }) ?? LinkMode.preset,
                file.size <= Self.sizeLimit,
                (try? OutputDestination.check(file: output)) != nil,
                (try? file.blocking.export(to: output, overwrite: true, linkMode: mode)) != nil
            else { return false }
        }
        Output.line(output ?? file.path)
        return true
    }
}
