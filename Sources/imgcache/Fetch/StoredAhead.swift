import ConcurrencyPrimitives
import ImageCache

/// Looks up the stored files of a run in batches. Each batch queries the index and holds its files once.
final class StoredAhead: Sendable {
    private static let width = 64

    private struct State {
        /// The index after the last looked-up input.
        var end = 0
        var outcomes: [Int: BatchLookup] = [:]
    }

    private let state = Locked(State())

    /// Removes and returns the outcome for an input, which is returned once.
    ///
    /// - Parameters:
    ///   - count: The number of inputs so far.
    ///   - lookUp: Looks up a range of inputs. Calls do not overlap.
    func take(_ place: Int, of count: Int, _ lookUp: (Range<Int>) -> [BatchLookup]) -> BatchLookup? {
        state.withLock { state in
            if place >= state.end {
                let range = place..<max(place + 1, min(place + Self.width, count))
                for (place, outcome) in zip(range, lookUp(range)) { state.outcomes[place] = outcome }
                state.end = range.upperBound
            }
            return state.outcomes.removeValue(forKey: place)
        }
    }
}
