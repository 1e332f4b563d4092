package import ConcurrencyPrimitives
import DiskStore
public import FoundationEssentials
import Glibc
import HTTPCaching
import HTTPTypes
import Logging
import MemoryCache
import TextIdentity
import Transfer

/// A cache of files from the web: ask for a URL, get a file that is complete, fresh by RFC 9111, and one version.
///
///     let cache = try DownloadCache()
///     let file = try await cache.file(for: "https://example.com/picture.jpg")
///     print(file.path, file.size, file.source)
///
/// * Downloads survive the end of the process at any instruction: the next one continues with `Range` and `If-Range`.
/// * Equal requests under way share one transfer, in this process and among all processes on the same directory.
/// * The store keeps within its capacity; the least recently used goes first.
///
/// A cache is safe to use from any thread and task. Several caches may share a directory.
public final class DownloadCache: Sendable {
    /// The directory of the disk store.
    public let directory: String

    let fetcher: Fetcher
    let forwarder: Forwarder
    package let executor: BlockingExecutor
    let configuration: Configuration
    /// The wall clock that the cache uses.
    package var now: @Sendable () -> Date { configuration.now }
    /// Created with the first request for an image: a cache of files needs none of it.
    private let images = Locked<ImagePipeline?>(nil)
    /// Made when the first value is asked for, or the first small file is answered from the store.
    private let usedValues = Locked<ValueMemory?>(nil)
    /// Started with the first of both: they share what memory there is.
    private let usedMonitor = Locked<MemoryPressureMonitor?>(nil)
    private let pinKeeper = PinKeeper()

    /// Opens the cache in `directory` (default: ``defaultDirectory``), creating it when it does not exist.
    ///
    /// The only call that touches the disk on the calling thread: a few file operations, less than a millisecond on a local disk.
    /// Nothing is listed, libcurl is not loaded, and no thread is started but for pins (``Configuration/keepsPins``). An index of an
    /// earlier version is migrated here, and a damaged one moved aside, which takes as long as the index is large.
    ///
    /// - Throws: ``ImageCacheError`` with code `store`: not writable, no space for the index, capacity out of range.
    public init(directory: String? = nil, configuration: Configuration = Configuration()) throws(ImageCacheError) {
        let directory = directory ?? Self.defaultDirectory
        var storeConfiguration = configuration.store
        storeConfiguration.clock = configuration.now
        storeConfiguration.logger = configuration.logger
        storeConfiguration.migrator = RecordMigrator()
        // One more than there are cores: work here waits for the disk at times, and more threads only take turns.
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

    /// Values in memory.
    var values: ValueMemory {
        usedValues.withLock { values in
            if let values { return values }
            let made = ValueMemory(store: fetcher.store, configuration: configuration, monitor: monitor())
            values = made
            return made
        }
    }

    /// The monitor of memory pressure, started; `nil` if the configuration wants none. It stops with the last that uses it.
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

    /// The values in memory, if any were ever used.
    var valuesIfUsed: ValueMemory? { usedValues.withLock { $0 } }

    /// Removes the responses and images of an original from memory.
    func forgetImages(of request: FileRequest) {
        valuesIfUsed?.forget(ResourceKey(request, by: fetcher.rules))
        fetcher.hotResponses.forget(fetcher.rules.keyURL(of: request.key ?? request.url), of: request.owner)
        images.withLock { $0 }?.memory.removeVariants(of: ResourceKey(request, by: fetcher.rules))
    }

    /// Removes all responses and images from memory.
    func forgetImages() {
        valuesIfUsed?.forgetAll()
        fetcher.hotResponses.forgetAll()
        images.withLock { $0 }?.memory.removeAll()
    }

    // MARK: Downloads under way

    /// The downloads under way, with their URLs and progress.
    public var running: [(url: String, progress: DownloadProgress)] {
        fetcher.pool.contexts.map { ($0.url, $0.latest) }
    }

    /// Stops every download under way; what arrived is kept for the next time.
    public func cancelAll() { fetcher.pool.cancel { _ in true } }

    /// Drops what waits to be uploaded to the remote store.
    package func dropUploads() { fetcher.remote?.dropWaiting() }

    /// Counts of the remote store; nil without one.
    public var remoteStatistics: RemoteStatistics? { fetcher.remote?.statistics }

    /// Stops the downloads of a URL, for everybody who waits for them.
    public func cancel(_ url: String) { fetcher.pool.cancel { $0.url.hasSameBytes(as: url) } }

    /// Stops the downloads of a URL, for everybody who waits for them.
    public func cancel(_ url: URL) { cancel(url.absoluteString) }

    /// Writes out batched access dates, ends the transfer thread, and releases the directory. Downloads under way fail.
    ///
    /// - Parameter time: The time for uploads to the remote store that wait; what is left then is dropped. Default: 10 seconds.
    public func close(uploadingFor time: Duration = .seconds(10)) async {
        cancelAll()
        await pinKeeper.stop()
        await fetcher.close(uploadingFor: time)
    }

    /// Closes the cache and deletes its directory with everything in it.
    package func closeAndDelete() async throws {
        await close()
        try FileManager.default.removeItem(atPath: directory)
    }
}
