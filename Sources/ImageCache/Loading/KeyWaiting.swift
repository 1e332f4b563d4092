import Transfer

/// The time to wait for another request that holds the key, in this process or another.
enum KeyWaiting: Sendable, Equatable {
    /// Not at all.
    case none
    /// As long as the other makes progress, within the request's own time-outs.
    case untilStalled
    /// At most so long, whatever the other does.
    case atMost(Duration)
}

/// Ends the wait for a key: its holder may be stopped, hang on a pipe, or be slower than the waiter's own time-outs allow.
/// Whoever stops waiting goes on without the lock, which saves work and guards nothing.
struct KeyPatience: Sendable {
    private let stall: Duration
    private let total: Duration?
    private let began: ContinuousClock.Instant
    private var progressed: ContinuousClock.Instant
    private var progress: Int64?

    /// - Parameter options: the waiter's: an attempt of its own would have the longer of its time-outs for a first byte.
    init(_ waiting: KeyWaiting, _ options: TransferOptions, now: ContinuousClock.Instant) {
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
    /// - Parameter progress: grows with what the holder has on disk.
    mutating func lasts(at now: ContinuousClock.Instant, progress: Int64) -> Bool {
        if let known = self.progress, progress != known { progressed = now }
        self.progress = progress
        return now - progressed < stall && total.map { now - began < $0 } ?? true
    }
}
