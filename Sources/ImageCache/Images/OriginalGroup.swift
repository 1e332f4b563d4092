import ConcurrencyPrimitives
import DiskStore
import ImageCodec

/// The requests that wait for one original. It is loaded once, and the images requested in the meantime are rendered together.
final class OriginalGroup: Sendable {
    typealias Pool = SharedTaskPool<Key, OriginalGroup, Void>

    /// The properties that the requests must share.
    struct Key: Hashable, Sendable {
        private let file: FileKey
        private let limits: DecodingLimits

        /// - Parameter epoch: The epoch of the original at the time of the request.
        init(_ request: ImageRequest, _ epoch: Generation.Epoch) {
            file = FileKey(request.file, in: epoch)
            limits = request.decoder.limits
        }
    }

    private struct State {
        var jobs: [RenderJob] = []
        var fetch: Fetch?
        var isClosed = false
    }

    private let state = Locked(State())

    /// Returns false if the group is closed.
    func add(_ job: RenderJob) -> Bool {
        state.withLock { state in
            if state.isClosed { return false }
            state.jobs.append(job)
            return true
        }
    }

    /// The fetch of the original, if it has started.
    var fetch: Fetch? { state.withLock { $0.fetch } }

    /// Records the fetch of the original, and informs the jobs.
    func follow(_ fetch: Fetch) {
        let jobs = state.withLock { state in
            state.fetch = fetch
            return state.jobs
        }
        for job in jobs { job.work.follow(fetch) }
    }

    /// Closes the group and returns its jobs.
    func close() -> [RenderJob] {
        state.withLock { state in
            state.isClosed = true
            defer { state.jobs = [] }
            return state.jobs
        }
    }
}
