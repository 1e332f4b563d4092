import ConcurrencyPrimitives
import Transfer

/// Retries the files of a set that failed for a temporary reason, once each, after all others are done.
///
/// If an origin fails now and then, some file of a large set uses up its retries; but a set is useful only if it is complete.
final class SecondTries: Sendable {
    private struct State {
        /// The results of first tries, until the second begins.
        var failed: [Int: FetchResult] = [:]
        var hasSucceeded = false
    }

    private let isOn: Bool
    private let state = Locked(State())

    init(isOn: Bool) { self.isOn = isOn }

    /// Takes the result of a file's first try.
    ///
    /// - Returns: True if the file is tried once more.
    func postpone(_ result: FetchResult, at place: Int) -> Bool {
        state.withLock { state in
            if result.exitStatus == .done { state.hasSucceeded = true }
            // Where nothing has arrived, the network is the reason.
            guard isOn, state.hasSucceeded, result.mayPass else { return false }
            state.failed[place] = result
            return true
        }
    }

    /// The result of a file's first try, once: this one is the second.
    func first(at place: Int) -> FetchResult? { state.withLock { $0.failed.removeValue(forKey: place) } }

    /// The results of files that were not tried again, because the run was stopped.
    var rest: [(FetchResult, Int)] { state.withLock { $0.failed.map { ($0.value, $0.key) }.sorted { $0.1 < $1.1 } } }
}

extension FetchResult {
    /// True if it failed for a reason that may be gone a little later.
    fileprivate var mayPass: Bool {
        switch kind {
        case "unreachable": true
        case "status": status.map { RetryState.isRetryable(status: $0) } ?? false
        default: false
        }
    }
}
