import ArgumentParser
import ImageCache
import Units

/// The options that select the store of a command.
protocol StoreSelecting {
    var directory: String { get }
    /// The capacity to apply; `nil` for the saved one.
    var requestedCapacity: Int64? { get }
    var discardsNewer: Bool { get }
}

/// The option for the cache directory.
struct PlaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The cache directory (default $IMGCACHE_DIR, $XDG_CACHE_HOME/imgcache, ~/.cache/imgcache): a cache, an empty or a new directory.",
            valueName: "dir"))
    var cacheDir: String?

    /// `--cache-dir`, `$IMGCACHE_DIR`, `$XDG_CACHE_HOME/imgcache` or `~/.cache/imgcache`.
    var directory: String { cacheDir ?? DownloadCache.defaultDirectory }

    func validate() throws {
        // An empty value, as of an unset variable, must not create or clear a cache in the current folder.
        guard cacheDir?.isEmpty != true else { throw ValidationError("--cache-dir expects a directory.") }
    }
}

/// The store of a command that only reads.
struct DirectoryOptions: ParsableArguments, StoreSelecting {
    @OptionGroup var place: PlaceOptions

    @Flag(
        name: .customLong("discard-newer"),
        help: "Replace a cache that a newer imgcache made by an empty one. Otherwise it is refused, exit code 6.")
    var discardsNewer = false

    var directory: String { place.directory }
    var requestedCapacity: Int64? { nil }
}

/// The store of a command that adds to it or removes from it.
struct StoreOptions: ParsableArguments, StoreSelecting {
    @OptionGroup var selection: DirectoryOptions

    @Option(
        help: ArgumentHelp(
            "The most that the store may hold, also for later runs (default $IMGCACHE_CAPACITY, else as before, else 20GiB, but at most half of what is free). 64 MiB of the disk stay free in any case.",
            valueName: "size"))
    var capacity: ByteSize?

    var directory: String { selection.directory }
    var discardsNewer: Bool { selection.discardsNewer }

    /// The capacity of `--capacity`, otherwise of `$IMGCACHE_CAPACITY`.
    var requestedCapacity: Int64? { (capacity ?? EnvironmentSettings.capacity)?.bytes }
}

struct OwnerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The owner of the entries: owners never see each other's entries.", valueName: "name"))
    var owner: String?
}

/// The owner of the entries that a command uses, specified by the same options as for `fetch`.
struct NamespaceOptions: ParsableArguments {
    @OptionGroup var whose: OwnerOptions

    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp("Entries fetched with -u for this user, with any password.", valueName: "user"))
    var user: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("Entries fetched with this Authorization field.", valueName: "name: value"))
    var headers: [String] = []

    @Flag(help: "Entries fetched with --netrc.")
    var netrc = false

    @Option(help: ArgumentHelp("Entries fetched with this certificate.", valueName: "file"))
    var cert: String?

    func validate() throws { try HeaderLines.validate(headers) }

    /// True if any of the options is given.
    var isGiven: Bool { whose.owner != nil || user != nil || !headers.isEmpty || netrc || cert != nil }

    /// The request for a URL's entry.
    func request(_ url: String) -> FileRequest {
        var request = FileRequest(url)
        request.owner = whose.owner
        request.fields = HeaderLines.fields(headers)
        request.transfer.netrc = netrc ? .default : .off
        request.transfer.clientCertificate = cert.map { RequestOptions.certificate($0) }
        if let user {
            // A name alone means any password, and `name:` an empty one.
            let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            request.transfer.credentials = .init(
                user: String(parts[0]), password: parts.count > 1 ? String(parts[1]) : "unknown")
        }
        return request
    }
}

struct MessageOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "No progress and no warnings.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Show request and response headers, credentials masked.")
    var verbose = false
}

struct ProgressOptions: ParsableArguments {
    @Flag(
        help: """
            With --json: also the progress, an object with "type": "progress" ten times a second; none on standard error.
            """)
    var jsonProgress = false
}

struct ResultOptions: ParsableArguments {
    @Flag(help: "One JSON object for each URL instead of the path, in order of completion.")
    var json = false

    @Flag(help: "With --json: in the order of the arguments.")
    var ordered = false
}
