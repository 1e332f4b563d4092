package import ConcurrencyPrimitives
import DiskStore
public import FoundationEssentials
import Glibc
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Logging
import MemoryCache
import TextIdentity
import Transfer

/// A cache of files from the web. For a URL, it returns a file that is complete, fresh according to RFC 9111, and of a single version.
///
///     let cache = try DownloadCache()
///     let file = try await cache.file(for: "https://example.com/picture.jpg")
///     print(file.path, file.size, file.source)
///
/// * Downloads survive a kill at any instruction: the next one resumes with `Range` and `If-Range`.
/// * Equal concurrent requests share one transfer, within this process and across all processes that use the directory.
/// * The store keeps within its capacity by evicting the least recently used entries.
///
/// All methods may be called from any thread and task. Several caches may share a directory.
public final class DownloadCache: Sendable {
    /// The directory of the disk store.
    public let directory: String

    let fetcher: Fetcher
    let forwarder: Forwarder
    package let executor: BlockingExecutor
    let configuration: Configuration
    /// The wall clock of the cache.
    package var now: @Sendable () -> Date { configuration.now }
    /// The store shared with other machines, if there is one.
    package var tier: (any SharedTier)? { fetcher.tier }
    /// Created by the first request for an image.
    private let images = Locked<ImagePipeline?>(nil)
    /// Created by the first request for a value, or by the first small file from the store.
    private let usedValues = Locked<ValueMemory?>(nil)
    /// Started with the first of ``images`` and ``usedValues``, which share it.
    private let usedMonitor = Locked<MemoryPressureMonitor?>(nil)
    private let pinKeeper = PinKeeper()

    /// Opens the cache in `directory` (default: ``defaultDirectory``), which is created if it does not exist.
    ///
    /// This is the only call that uses the disk on the calling thread: a few file operations, less than a millisecond on a local disk. It
    /// does not list directories or load libcurl. It starts threads only for pins (``Configuration/keepsPins``) and for the removal of
    /// other versions' values (``Configuration/applicationVersion``). It migrates an index of an earlier version and replaces a damaged
    /// one, which takes time in proportion to the size of the index.
    ///
    /// - Throws: ``ImageCacheError`` with code `store` if the directory is not writable or has no space for the index; `invalidRequest` for
    ///   an invalid capacity.
    public init(directory: String? = nil, configuration: Configuration = Configuration()) throws(ImageCacheError) {
        let directory = directory ?? Self.defaultDirectory
        var storeConfiguration = configuration.store
        if directory == Self.directoryWithoutHome {
            try Self.takeSharedName(
                directory, creating: storeConfiguration.createsDirectory && !storeConfiguration.isReadOnly)
        }
        storeConfiguration.clock = configuration.now
        storeConfiguration.logger = configuration.logger
        storeConfiguration.migrator = RecordMigrator()
        // One more than there are cores, because the work sometimes waits for the disk. Further threads would not help.
        executor = BlockingExecutor(
            width: max(2, min(configuration.maxTransfers, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 1, 8)))
        do {
            let store = try DiskStore(directory: directory, configuration: storeConfiguration)
            fetcher = Fetcher(store: store, configuration: configuration, executor: executor)
            forwarder = Forwarder(fetcher: fetcher)
            if let change = store.capacityChange, change.excess > 0 {
                configuration.logger.notice(
                    "the store exceeds its new capacity; the longest unused is evicted with what is stored next",
                    metadata: ["path": "\(directory)", "capacity": "\(change.capacity)", "excess": "\(change.excess)"])
            }
        } catch {
            throw ImageCacheError(error)
        }
        self.directory = directory
        self.configuration = configuration
        removeOtherVersions()
        if configuration.keepsPins, !configuration.store.isReadOnly { pinKeeper.start(self) }
    }

    deinit {
        pinKeeper.cancel()
        executor.close()
    }

    var pipeline: ImagePipeline {
        images.withLock { images in
            if let images { return images }
            let pipeline = ImagePipeline(fetcher: fetcher, configuration: configuration, monitor: monitor())
            images = pipeline
            return pipeline
        }
    }

    /// The values in memory, created on first use.
    var values: ValueMemory {
        usedValues.withLock { values in
            if let values { return values }
            let made = ValueMemory(store: fetcher.store, configuration: configuration, monitor: monitor())
            values = made
            return made
        }
    }

    /// The running monitor of memory pressure; `nil` if the configuration disables it. It stops when its last user is released.
    private func monitor() -> MemoryPressureMonitor? {
        guard configuration.watchesMemoryPressure else { return nil }
        return usedMonitor.withLock { used in
            if let used { return used }
            var pressure = MemoryPressureMonitor.Configuration()
            pressure.logger = configuration.logger
            let monitor = MemoryPressureMonitor(configuration: pressure)
            monitor.start()
            used = monitor
            return monitor
        }
    }

    /// The values in memory, if they were created.
    var valuesIfUsed: ValueMemory? { usedValues.withLock { $0 } }

    /// Removes the responses, values and images of a URL from memory.
    func forgetImages(of request: FileRequest) {
        valuesIfUsed?.forget(ResourceKey(request, by: fetcher.rules))
        fetcher.hotResponses.forget(fetcher.rules.keyURL(of: request.key ?? request.url), of: request.owner)
        images.withLock { $0 }?.memory.removeVariants(of: ResourceKey(request, by: fetcher.rules))
    }

    /// Removes all responses, values and images from memory.
    func forgetImages() {
        valuesIfUsed?.forgetAll()
        fetcher.hotResponses.forgetAll()
        images.withLock { $0 }?.memory.removeAll()
    }

    // MARK: Downloads under way

    /// The URLs, without userinfo, and the progress of the running downloads, also of those that load ranges (``RemoteFile``).
    public var running: [(url: String, progress: DownloadProgress)] {
        fetcher.pool.contexts.map { ($0.url, $0.latest) } + fetcher.rangeFetches.running
    }

    /// Stops all running downloads. Received bytes are kept, so that later requests resume.
    public func cancelAll() { fetcher.cancel { _ in true } }

    /// Stops the downloads of a URL, of all users that it may name, for all callers that wait for them.
    public func cancel(_ url: String) {
        let url = URLText.separatingUserinfo(url).url
        fetcher.cancel { $0.url.hasSameBytes(as: url) }
    }

    /// Stops the downloads of a URL, of all users that it may name, for all callers that wait for them.
    public func cancel(_ url: URL) { cancel(url.absoluteString) }

    /// Writes pending access dates, ends the transfer thread, and releases the directory. Running downloads fail.
    ///
    /// - Parameter time: The time limit for pending uploads to a store shared with other machines; the rest is dropped. Default: 10 seconds.
    public func close(uploadingFor time: Duration = .seconds(10)) async {
        cancelAll()
        await pinKeeper.stop()
        await fetcher.close(uploadingFor: time)
    }

    /// Closes the cache and deletes its directory.
    package func closeAndDelete() async throws {
        await close()
        try FileManager.default.removeItem(atPath: directory)
    }
}
