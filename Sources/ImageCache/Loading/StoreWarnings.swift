import ConcurrencyPrimitives
import DiskStore
import Logging

/// Logs the number of storable responses that could not be stored, at most once a minute.
final class StoreWarnings: Sendable {
    private struct State {
        var count = 0
        var next = ContinuousClock.now
    }

    private static let pause = Duration.seconds(60)

    private let logger: Logger
    private let state = Locked(State())

    init(logger: Logger) { self.logger = logger }

    func note(_ error: ImageCacheError) {
        // A body that is larger than the store can never be stored.
        guard let reason = error.code.storeReason, reason != .tooLarge else { return }
        let count = state.withLock { state -> Int? in
            state.count += 1
            guard ContinuousClock.now >= state.next else { return nil }
            state.next = .now + Self.pause
            defer { state.count = 0 }
            return state.count
        }
        guard let count else { return }
        logger.warning("answers cannot be stored", metadata: ["count": "\(count)", "reason": "\(error)"])
    }
}
