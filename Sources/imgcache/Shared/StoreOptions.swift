import ArgumentParser
import Glibc
import ImageCache
import Units

struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The cache directory (default $IMGCACHE_DIR, $XDG_CACHE_HOME/imgcache, ~/.cache/imgcache): a cache, an empty or a new directory.",
            valueName: "dir"))
    var cacheDir: String?

    @Option(
        help: ArgumentHelp(
            "The most that the store may hold, also for later runs (default $IMGCACHE_CAPACITY, else as before, else 20GiB, but at most half of what is free). 64 MiB of the disk stay free in any case.",
            valueName: "size"))
    var capacity: ByteSize?

    private static let capacityVariable = "IMGCACHE_CAPACITY"

    private static var environmentCapacity: String? {
        getenv(capacityVariable).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The capacity in `--capacity`, else in `$IMGCACHE_CAPACITY`; nil: the remembered one.
    var requestedCapacity: Int64? { (capacity ?? Self.environmentCapacity.flatMap { ByteSize(text: $0) })?.bytes }

    func validate() throws {
        // An unset variable must not create a cache in the current folder, or `clear` one there.
        guard cacheDir?.isEmpty != true else { throw ValidationError("--cache-dir expects a directory.") }
        if capacity == nil, let text = Self.environmentCapacity, ByteSize(text: text) == nil {
            throw ValidationError(
                "\(Self.capacityVariable) must be a number of bytes, such as 500MB or 2GiB, not '\(text)'.")
        }
    }
}

struct OwnerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The owner of the entries: owners never see each other's entries.", valueName: "name"))
    var owner: String?
}

/// The owner whose entries a command is about, specified by the options with which `fetch` stored them.
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

    func validate() throws { try HeaderLines.validate(headers) }

    /// True if an owner is specified.
    var isGiven: Bool { whose.owner != nil || user != nil || !headers.isEmpty || netrc }

    /// The request for a URL's entry.
    func request(_ url: String) -> FileRequest {
        var request = FileRequest(url)
        request.owner = whose.owner
        request.fields = HeaderLines.fields(headers)
        request.transfer.netrc = netrc ? .default : .off
        if let user {
            // A name alone means any password; `token:` an empty one.
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

struct ResultOptions: ParsableArguments {
    @Flag(help: "One JSON object for each URL instead of the path, in order of completion.")
    var json = false

    @Flag(help: "With --json: in the order of the arguments.")
    var ordered = false
}
