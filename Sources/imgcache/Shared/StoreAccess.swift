import ArgumentParser
import ImageCache

extension StoreOptions {
    /// `--cache-dir`, `$IMGCACHE_DIR`, `$XDG_CACHE_HOME/imgcache` or `~/.cache/imgcache`.
    var directory: String { cacheDir ?? ImageCache.defaultDirectory }

    fileprivate func openCache() throws -> ImageCache {
        var configuration = ImageCache.Configuration()
        configuration.store.capacity = capacity?.bytes
        return try ImageCache(directory: directory, configuration: configuration)
    }
}

/// Runs the body of a command that only looks at or tidies the store; a failure is one sentence and an exit code.
func withStore(_ options: StoreOptions, _ body: (ImageCache) throws -> Void) throws {
    do {
        let cache = try options.openCache()
        defer { cache.flush() }
        try body(cache)
    } catch {
        throw ended(by: error)
    }
}

func withStore(_ options: StoreOptions, _ body: (ImageCache) async throws -> Void) async throws {
    do {
        let cache = try options.openCache()
        defer { cache.flush() }
        try await body(cache)
    } catch {
        throw ended(by: error)
    }
}

private func ended(by error: any Error) -> ExitCode {
    Output.error("\(error)".forTerminal)
    return ExitCode(ExitStatus(error).rawValue)
}
