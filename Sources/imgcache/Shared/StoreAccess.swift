import ArgumentParser
import ImageCache

extension StoreOptions {
    /// `--cache-dir`, `$IMGCACHE_DIR`, `$XDG_CACHE_HOME/imgcache` or `~/.cache/imgcache`.
    var directory: String { cacheDir ?? ImageCache.defaultDirectory }
}

/// Runs the body of a command that only looks at or tidies the store; a failure is one sentence and an exit code.
func withStore(_ options: StoreOptions, _ body: (ImageCache) throws -> Void) throws {
    do {
        var configuration = ImageCache.Configuration()
        configuration.store.capacity = options.capacity?.bytes
        let cache = try ImageCache(directory: options.directory, configuration: configuration)
        defer { cache.flush() }
        try body(cache)
    } catch {
        Output.error("\(error)".forTerminal)
        throw ExitCode(ExitStatus(error).rawValue)
    }
}
