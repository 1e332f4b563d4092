import ArgumentParser
import Fleet
import ImageCache
import Logging
import Units

extension StoreSelecting {
    fileprivate func openCache(
        for use: StoreAccess, sharing remote: RemoteStoreConfiguration? = nil
    ) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration.command
        configuration.store.capacity = requestedCapacity
        configuration.store.discardsNewer = discardsNewer
        configuration.remote = remote
        configuration.store.remembersCapacity = use != .readOnly
        configuration.store.createsDirectory = use == .createIfNeeded
        configuration.rules.keys = try KeyRules(directory: directory)
        do {
            let cache = try DownloadCache.opened(in: directory, configuration)
            if use == .modifyExisting { try cache.keepWithinSmallerCapacity(quietly: false) }
            return cache
        } catch let error as ImageCacheError {
            guard [.store(.notWritable), .store(.busy)].contains(error.code), use == .readOnly else { throw error }
            configuration.store.isReadOnly = true
            guard let cache = try? DownloadCache.opened(in: directory, configuration) else {
                throw error
            }
            return cache
        }
    }
}

extension DownloadCache {
    /// Opens a cache, and warns of a directory that others can change. The error for a cache of a newer version includes advice.
    static func opened(in directory: String, _ configuration: Configuration) throws -> DownloadCache {
        do {
            let cache = try DownloadCache(directory: directory, configuration: configuration)
            if configuration.logger.logLevel < .critical { DirectoryOwnership.warn(of: directory) }
            return cache
        } catch {
            guard error.code == .store(.newer) else { throw error }
            throw Failure(.store, "\(error), or empty it with --discard-newer", kind: ErrorKind.word(for: error))
        }
    }
}

extension DownloadCache {
    /// Evicts entries beyond a capacity that is smaller than the previous one, and reports the amount.
    func keepWithinSmallerCapacity(quietly: Bool) throws(ImageCacheError) {
        guard let change = blocking.capacityChange, change.excess > 0 else { return }
        let evicted = try blocking.evictExcess()
        guard !quietly, evicted.entries > 0 else { return }
        let former = change.previous.map { " and was \(ByteSize($0))" } ?? ""
        Output.warning(
            "evicted \(evicted.entries.counted("entry", "entries")), \(ByteSize(evicted.bytes)): "
                + "the capacity is \(ByteSize(change.capacity)) now\(former)")
    }
}

/// The access of a command to the store.
enum StoreAccess {
    /// Reads, also if the store cannot be written. A missing cache is not created.
    case readOnly
    /// Modifies existing content, after evicting what exceeds a smaller capacity. A missing cache is not created.
    case modifyExisting
    /// Removes content, which is all that it evicts. A missing cache is not created.
    case removeExisting
    /// Modifies content; a missing cache is created.
    case createIfNeeded
}

/// Runs a command's body on the store. A failure is reported as a sentence and an exit code.
func withStore(_ options: some StoreSelecting, for use: StoreAccess, _ body: (DownloadCache) throws -> Void) throws {
    do {
        let cache = try options.openCache(for: use)
        try body(cache)
        try cache.blocking.flush()
    } catch {
        throw ended(by: error)
    }
}

func withStore(
    _ options: some StoreSelecting, for use: StoreAccess, sharing remote: RemoteStoreConfiguration? = nil,
    _ body: (DownloadCache) async throws -> Void
) async throws {
    do {
        let cache = try options.openCache(for: use, sharing: remote)
        try await body(cache)
        try cache.blocking.flush()
    } catch {
        throw ended(by: error)
    }
}

private func ended(by error: any Error) -> ExitCode {
    Output.error("\(error)")
    return ExitCode(ExitStatus(error).rawValue)
}
