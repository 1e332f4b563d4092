package import ConcurrencyPrimitives
package import DiskStore
public import ImageCache
public import RemoteStore

extension DownloadCache.Configuration {
    /// A store shared with other machines, in which files are looked up before they are requested from the origin. Default: none.
    public var remote: RemoteStoreConfiguration? {
        get { tier as? RemoteStoreConfiguration }
        set { tier = newValue }
    }
}

extension RemoteStoreConfiguration: SharedTierConfiguration {
    package func opened(
        over store: DiskStore, for cache: DownloadCache.Configuration, on executor: BlockingExecutor
    ) -> any SharedTier {
        RemoteCache(
            self, rules: cache.rules, store: store, executor: executor, now: cache.now, logger: cache.logger)
    }
}

extension DownloadCache {
    private var remote: RemoteCache? { tier as? RemoteCache }

    /// The statistics of the remote store; `nil` without one.
    public var remoteStatistics: RemoteStatistics? { remote?.statistics }

    /// Drops the waiting uploads to the remote store.
    package func dropUploads() { remote?.dropWaiting() }

    /// Waits until the machines that share the remote store can know all earlier invalidations.
    ///
    /// - Parameter time: The time limit; invalidations that are not published by then are dropped.
    /// - Returns: The number of dropped invalidations; 0 without a remote store.
    package func tellFleet(within time: Duration) async -> Int {
        guard let remote else { return 0 }
        let before = remote.statistics.lostInvalidations
        await remote.finishTelling(within: time)
        return remote.statistics.lostInvalidations - before
    }
}
