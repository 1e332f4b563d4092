import Glibc

// The waits for other processes that change the index.
//
// A process may be stopped inside a transaction. A call's first transaction therefore does not wait: ``DiskStore/withIndex(waitingFor:_:)``
// tries it again, between which other threads use the index. Later transactions of a call, which cannot be done over, wait on the
// connection. Once a wait was in vain, none is long until a transaction succeeds.
extension Index {
    /// The beginning of a call.
    func beginCall() {
        hasChanged = false
        allowWaits(.zero, later: isStalled ? .zero : configuration.busyTimeout)
    }

    /// Sets the time that transactions wait on the connection.
    ///
    /// - Parameter later: The time once a transaction has succeeded.
    func allowWaits(_ time: Duration, later: Duration) {
        laterWait = later.milliseconds
        openCatalogue?.connection.busyTimeout = time.milliseconds
    }

    /// The end of a transaction that changed the index.
    func noteChange() {
        hasChanged = true
        busySince = nil
        isStalled = false
        openCatalogue?.connection.busyTimeout = laterWait
    }

    /// The end of a call that another process has prevented.
    ///
    /// - Parameters:
    ///   - patience: The time that the caller waits at most, from the first such call on.
    ///   - began: The beginning of the caller's wait.
    /// - Returns: True to try the call again.
    func mayTryAgain(within patience: Duration, since began: ContinuousClock.Instant) -> Bool {
        if hasChanged { return false }
        let now = ContinuousClock.now
        let since = busySince ?? now
        busySince = since
        if now - since < patience || now - began < min(patience, Self.shortWait) { return true }
        if patience >= configuration.busyTimeout, !isStalled {
            isStalled = true
            // SQLite keeps a lock that the system did not take back, and would wait for itself from then on.
            openCatalogue = nil
        }
        return false
    }

    /// The wait of a call after another one has waited in vain.
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
    fileprivate var milliseconds: Int32 {
        let (seconds, attoseconds) = components
        return Int32(clamping: min(max(0, seconds), 1 << 31) * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
