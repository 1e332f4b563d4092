extension DownloadCache {
    /// Waits until the machines that share the remote store can know all earlier invalidations.
    ///
    /// - Parameter time: The time limit; invalidations that are not published by then are dropped.
    /// - Returns: The number of dropped invalidations; 0 without a remote store.
    package func tellFleet(within time: Duration) async -> Int {
        guard let remote = fetcher.remote else { return 0 }
        let before = remote.statistics.lostInvalidations
        await remote.finishTelling(within: time)
        return remote.statistics.lostInvalidations - before
    }
}
