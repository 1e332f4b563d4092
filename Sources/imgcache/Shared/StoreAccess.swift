import ArgumentParser
import ImageCache

extension StoreOptions {
    /// `--cache-dir`, `$IMGCACHE_DIR`, `$XDG_CACHE_HOME/imgcache` or `~/.cache/imgcache`.
    var directory: String { cacheDir ?? ImageCache.defaultDirectory }

    fileprivate func openCache(for use: StoreUse) throws -> ImageCache {
        var configuration = ImageCache.Configuration()
        configuration.store.capacity = capacity?.bytes
        configuration.store.createsDirectory = use == .tidying
        do throws(ImageCacheError) {
            return try ImageCache(directory: directory, configuration: configuration)
        } catch {
            guard error.code == .store(.notWritable), use == .looking else { throw error }
            configuration.store.isReadOnly = true
            guard let cache = try? ImageCache(directory: directory, configuration: configuration) else { throw error }
            return cache
        }
    }
}

/// What a command does with the store that it opens.
enum StoreUse {
    /// Reads, also where nothing may be written. Where there is no cache, none is made.
    case looking
    /// Changes what must be there. Where there is no cache, none is made.
    case changing
    /// Changes what may be there.
    case tidying
}

/// Runs the body of a command that only looks at or tidies the store; a failure is one sentence and an exit code.
func withStore(_ options: StoreOptions, for use: StoreUse, _ body: (ImageCache) throws -> Void) throws {
    do {
        let cache = try options.openCache(for: use)
        defer { cache.flush() }
        try body(cache)
    } catch {
        throw ended(by: error)
    }
}

func withStore(
    _ options: StoreOptions, for use: StoreUse, _ body: (ImageCache) async throws -> Void
) async throws {
    do {
        let cache = try options.openCache(for: use)
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
