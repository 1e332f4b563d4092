extension DownloadCache {
    /// Waits until the machines that share the remote store can know of all invalidations so far.
    ///
    /// - Parameter time: The time to wait at most; those that were not told by then are dropped.
    /// - Returns: The number of those that were dropped. 0 without a remote store.
    package func tellFleet(within time: Duration) async -> Int {
        guard let remote = fetcher.remote else { return 0 }
        let before = remote.statistics.lostInvalidations
        await remote.finishTelling(within: time)
        return remote.statistics.lostInvalidations - before
    }
}
