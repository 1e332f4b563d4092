import ArgumentParser
import ImageCache

struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The cache directory (default $IMGCACHE_DIR, $XDG_CACHE_HOME/imgcache, ~/.cache/imgcache).",
            valueName: "dir"))
    var cacheDir: String?

    @Option(help: ArgumentHelp("The most that the store may hold (default 2GiB).", valueName: "size"))
    var capacity: ByteSize?

    func validate() throws {
        // An unset variable must not make a cache of the current folder, or `clear` one there.
        guard cacheDir?.isEmpty != true else { throw ValidationError("--cache-dir takes a folder.") }
    }
}

struct OwnerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Whose entries: those of one owner are never seen by another.", valueName: "name"))
    var owner: String?

    /// The request for a URL's entry.
    func request(_ url: String) -> FileRequest {
        var request = FileRequest(url)
        request.owner = owner
        return request
    }
}

struct MessageOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "No progress and no warnings.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Show request and response headers, credentials masked.")
    var verbose = false

    @Flag(help: "One JSON object a URL instead of the path.")
    var json = false
}
