import ArgumentParser
import ImageCache
import Units

extension StoreOptions {
    /// `--cache-dir`, `$IMGCACHE_DIR`, `$XDG_CACHE_HOME/imgcache` or `~/.cache/imgcache`.
    var directory: String { cacheDir ?? DownloadCache.defaultDirectory }

    fileprivate func openCache(for use: StoreUse) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration()
        configuration.store.capacity = wantedCapacity
        configuration.store.remembersCapacity = use != .looking
        configuration.store.createsDirectory = use == .tidying
        configuration.rules.keys = try KeyRules(directory: directory)
        do throws(ImageCacheError) {
            let cache = try DownloadCache(directory: directory, configuration: configuration)
            if use == .changing { try cache.keepWithinSmallerCapacity(quietly: false) }
            return cache
        } catch {
            guard error.code == .store(.notWritable), use == .looking else { throw error }
            configuration.store.isReadOnly = true
            guard let cache = try? DownloadCache(directory: directory, configuration: configuration) else {
                throw error
            }
            return cache
        }
    }
}

extension DownloadCache {
    /// Evicts what a capacity leaves no room for that is smaller than the one before, and says how much it was.
    func keepWithinSmallerCapacity(quietly: Bool) throws(ImageCacheError) {
        guard let change = capacityChange, change.excess > 0 else { return }
        let evicted = try keepWithinCapacity()
        guard !quietly, evicted.entries > 0 else { return }
        let former = change.former.map { " and was \(ByteSize($0))" } ?? ""
        Output.warning(
            "evicted \(evicted.entries) entries, \(ByteSize(evicted.bytes)): "
                + "the capacity is \(ByteSize(change.capacity)) now\(former)")
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
func withStore(_ options: StoreOptions, for use: StoreUse, _ body: (DownloadCache) throws -> Void) throws {
    do {
        let cache = try options.openCache(for: use)
        defer { cache.flush() }
        try body(cache)
    } catch {
        throw ended(by: error)
    }
}

func withStore(
    _ options: StoreOptions, for use: StoreUse, _ body: (DownloadCache) async throws -> Void
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
