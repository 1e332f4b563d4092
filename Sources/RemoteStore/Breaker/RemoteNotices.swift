package import ConcurrencyPrimitives

/// Decides which failures of a remote store are told: the very first one, and each outage once.
package struct RemoteNotices: Sendable {
    /// A line of the log.
    package enum Notice: Sendable, Hashable {
        /// The first failure since the start.
        case failed
        /// The store is not asked for a while.
        case opened
        /// The store is asked again.
        case closed
    }

    private var hasToldAny = false
    /// True if the failure that was told is still going on.
    private var hasToldThis = false

    package init() {}

    /// Notes the end of a request, and the change of the breaker that came of it.
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
