package import ConcurrencyPrimitives

/// Decides which failures of a remote store are logged: the first one, and each outage once.
package struct RemoteNotices: Sendable {
    /// A line of the log.
    package enum Notice: Sendable, Hashable {
        /// The first failure since the start.
        case failed
        /// The circuit opened: the store is not used for a while.
        case opened
        /// The circuit closed: the store is used again.
        case closed
    }

    private var hasToldAny = false
    /// True if the current outage has been reported.
    private var hasToldThis = false

    package init() {}

    /// Records the end of a request, and the resulting change of the breaker.
    package mutating func notice(isFailure: Bool, _ change: CircuitBreaker.Change?) -> Notice? {
        if change == .closed {
            hasToldThis = false
            return .closed
        }
        if isFailure, !hasToldAny {
            (hasToldAny, hasToldThis) = (true, true)
            return .failed
        }
        if change == .opened, !hasToldThis {
            (hasToldAny, hasToldThis) = (true, true)
            return .opened
        }
        if !isFailure, change == nil { hasToldThis = false }
        return nil
    }
}
