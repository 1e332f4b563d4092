import DiskStore
import ImageCodec
import Locking

/// Those who wait for the same original in several sizes: one download and one decode serve all of them that come before
/// the decode begins.
final class DecodingGroup: Sendable {
    typealias Results = [ImageRecipe: Result<ImagePipeline.Made, ImageCacheError>]
    typealias Work = SharedWork<Results>

    /// What requests must have in common.
    struct Key: Hashable {
        private let file: FlightKey
        private let decoding: ImageRecipe.Decoding
        private let limits: DecodingLimits
        private let storing: ImageRequest.Storing

        /// - Parameter epoch: the original's, when it was asked for.
        init(_ request: ImageRequest, _ epoch: Generation.Epoch) {
            file = FlightKey(request.file, in: epoch)
            decoding = ImageRecipe.Decoding(request.decoder)
            limits = request.decoder.limits
            storing = request.storing
        }
    }

    private struct State {
        var recipes: Set<ImageRecipe>
        var isClosed = false
    }

    let work: Work
    private let state: Locked<State>

    /// - Parameter onEnd: see ``SharedWork``.
    init(first: ImageRecipe, onEnd: @escaping @Sendable (Work) -> Void) {
        state = Locked(State(recipes: [first]))
        work = Work(onEnd: onEnd)
    }

    /// False when it is too late.
    func add(_ recipe: ImageRecipe) -> Bool {
        state.withLock { state in
            if state.isClosed { return false }
            state.recipes.insert(recipe)
            return true
        }
    }

    /// What is wanted so far.
    var recipes: Set<ImageRecipe> { state.withLock { $0.recipes } }

    /// Nobody joins any more: what is wanted, in all.
    func close() -> Set<ImageRecipe> {
        state.withLock { state in
            state.isClosed = true
            return state.recipes
        }
    }
}
