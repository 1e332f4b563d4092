import ConcurrencyPrimitives

/// Looks up the requests of a list in batches. Each batch queries the index and holds its files once.
package final class LookupAhead: Sendable {
    private static let width = 64

    private struct State {
        /// The index after the last looked-up request.
        var end = 0
        var outcomes: [Int: BatchLookup] = [:]
    }

    private let state = Locked(State())

    package init() {}

    /// Removes and returns the outcome for a request, which is returned once. Blocks the calling thread.
    ///
    /// - Parameters:
    ///   - count: The number of requests so far.
    ///   - lookUp: Looks up a range of requests. Calls do not overlap.
    package func take(_ index: Int, of count: Int, _ lookUp: (Range<Int>) -> [BatchLookup]) -> BatchLookup {
        state.withLock { state in
            if index >= state.end {
                let range = index..<max(index + 1, min(index + Self.width, count))
                for (index, outcome) in zip(range, lookUp(range)) { state.outcomes[index] = outcome }
                state.end = range.upperBound
            }
            return state.outcomes.removeValue(forKey: index) ?? BatchLookup()
        }
    }
}

extension DownloadCache {
    /// The outcome of the look-up of a request in a list. The look-up includes the requests that follow it, on a thread of the cache.
    func lookUp(_ index: Int, of requests: [FileRequest], _ ahead: LookupAhead) async -> BatchLookup {
        guard requests.count > 1 else { return BatchLookup() }
        return await withTaskExecutorPreference(executor) {
            ahead.take(index, of: requests.count) { blocking.lookUp(Array(requests[$0])) }
        }
    }
}
