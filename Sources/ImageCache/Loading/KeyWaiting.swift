package import Transfer

/// The time to wait for another request that holds the key, in this process or another.
package enum KeyWaiting: Sendable, Equatable {
    /// Does not wait.
    case none
    /// Waits while the other request makes progress, within the request's own time-outs.
    case untilStalled
    /// Waits at most this long.
    case atMost(Duration)
}

/// Limits the wait for a key's lock. The lock's holder may be stopped, block on a pipe, or be slower than the waiter's own time-outs allow. After
/// the wait, the request continues without the lock, which prevents duplicate work and protects no data.
package struct KeyPatience: Sendable {
    private let stall: Duration
    private let total: Duration?
    private let began: ContinuousClock.Instant
    private var progressed: ContinuousClock.Instant
    private var progress: Int64?

    /// - Parameter options: The waiter's options. Its own transfer would wait for the first byte as long as the longer of its connect and stall
    ///   time-outs.
    package init(_ waiting: KeyWaiting, _ options: TransferOptions, now: ContinuousClock.Instant) {
        switch waiting {
        case .none: (stall, total) = (.zero, .zero)
        case .untilStalled: (stall, total) = (max(options.connectTimeout, options.stallTimeout), options.maxTime)
        case .atMost(let limit): (stall, total) = (limit, limit)
        }
        began = now
        progressed = now
    }

    /// Returns true to continue waiting.
    ///
    /// - Parameter progress: A number that grows with the bytes that the holder has on disk.
    package mutating func lasts(at now: ContinuousClock.Instant, progress: Int64) -> Bool {
        if let known = self.progress, progress != known { progressed = now }
        self.progress = progress
        return now - progressed < stall && total.map { now - began < $0 } ?? true
    }
}
