import ConcurrencyPrimitives
import Transfer

/// Retries the files of a set that failed for a temporary reason once, after all others.
///
/// With an unreliable origin, some files of a large set use up their retries, but the set is useful only if it is complete.
final class DeferredRetries: Sendable {
    private struct State {
        /// The results of first attempts, until the second ones start.
        var failed: [Int: FetchResult] = [:]
        var hasSucceeded = false
    }

    private let isOn: Bool
    private let state = Locked(State())

    init(isOn: Bool) { self.isOn = isOn }

    /// Records the result of a file's first attempt.
    ///
    /// - Returns: True if the file should be retried.
    func postpone(_ result: FetchResult, at place: Int) -> Bool {
        state.withLock { state in
            if result.exitStatus == .done { state.hasSucceeded = true }
            // If no file has arrived, the network is unreachable, and a retry would fail too.
            guard isOn, state.hasSucceeded, result.mayPass else { return false }
            state.failed[place] = result
            return true
        }
    }

    /// Removes and returns the result of a file's first attempt; `nil` if there was none.
    func first(at place: Int) -> FetchResult? { state.withLock { $0.failed.removeValue(forKey: place) } }

    /// The results of files that were not retried because the run was stopped.
    var rest: [(FetchResult, Int)] { state.withLock { $0.failed.map { ($0.value, $0.key) }.sorted { $0.1 < $1.1 } } }
}

extension FetchResult {
    /// True if the failure may be temporary.
    fileprivate var mayPass: Bool {
        switch kind {
        case "unreachable": true
        case "status": status.map { RetryState.isRetryable(status: $0) } ?? false
        default: false
        }
    }
}
