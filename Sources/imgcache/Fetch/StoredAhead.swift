import ConcurrencyPrimitives
import ImageCache

/// Looks up the stored files of a run in batches. Each batch queries the index and holds its files once.
final class StoredAhead: Sendable {
    private static let width = 64

    private struct State {
        /// The index after the last looked-up input.
        var end = 0
        var files: [Int: CachedFile] = [:]
    }

    private let state = Locked(State())

    /// Removes and returns the stored file of an input.
    ///
    /// - Parameters:
    ///   - count: The number of inputs so far.
    ///   - lookUp: Returns the stored files of a range of inputs. Calls do not overlap.
    func take(_ place: Int, of count: Int, _ lookUp: (Range<Int>) -> [CachedFile?]) -> CachedFile? {
        state.withLock { state in
            if place >= state.end {
                let range = place..<max(place + 1, min(place + Self.width, count))
                for (place, file) in zip(range, lookUp(range)) { state.files[place] = file }
                state.end = range.upperBound
            }
            return state.files.removeValue(forKey: place)
        }
    }
}
