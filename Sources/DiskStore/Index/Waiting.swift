import Glibc

// Waits for other processes that change the index.
//
// A process may be stopped inside a transaction. A call's first transaction therefore does not wait: ``DiskStore/withIndex(waitingFor:_:)``
// retries it, and other threads use the index in between. Later transactions of a call cannot be repeated, so they wait on the connection.
// After a wait has failed, all waits are short until a transaction succeeds.
extension Index {
    /// The beginning of a call.
    func beginCall() {
        hasChanged = false
        // Without a log, readers keep a commit waiting for a moment.
        allowWaits(
            fileSystem.isShared ? Self.waitForReaders : .zero, later: isStalled ? .zero : configuration.busyTimeout)
    }

    /// Sets the time that transactions wait on the connection.
    ///
    /// - Parameter later: The time once a transaction has succeeded.
    func allowWaits(_ time: Duration, later: Duration) {
        laterWait = later.sqliteMilliseconds
        openCatalogue?.connection.busyTimeout = time.sqliteMilliseconds
    }

    /// The end of a transaction that changed the index.
    func noteChange() {
        hasChanged = true
        busySince = nil
        isStalled = false
        openCatalogue?.connection.busyTimeout = laterWait
    }

    /// Decides whether to retry a call that another process has blocked.
    ///
    /// - Parameters:
    ///   - patience: The longest time that the caller waits, from the first such call on.
    ///   - began: The start of the caller's wait.
    /// - Returns: True to retry the call.
    func mayTryAgain(within patience: Duration, since began: ContinuousClock.Instant) -> Bool {
        if hasChanged { return false }
        let now = ContinuousClock.now
        let since = busySince ?? now
        busySince = since
        if now - since < patience || now - began < min(patience, Self.shortWait) { return true }
        if patience >= configuration.busyTimeout, !isStalled {
            isStalled = true
            // SQLite has kept a lock that the system did not release, and would wait for itself from now on.
            openCatalogue = nil
        }
        return false
    }

    private static let waitForReaders = Duration.milliseconds(100)

    /// The wait of a call after another call's wait has failed.
    private static let shortWait = Duration.milliseconds(250)

    /// Makes a change that is not worth waiting for another process.
    ///
    /// - Returns: `nil` if another process is changing the index.
    func changeUnlessBusy<Result>(
        _ body: (inout Totals) throws(StoreError) -> Result
    ) throws(StoreError) -> Result? {
        do throws(StoreError) { return try change(body) } catch  where error.code == .busy { return nil }
    }
}

extension Duration {
    /// Milliseconds, as SQLite takes them.
    var sqliteMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        return Int32(clamping: min(max(0, seconds), 1 << 31) * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
