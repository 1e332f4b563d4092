import ConcurrencyPrimitives
import DiskStore
import ImageCodec

/// The requests that wait for one original: it is loaded once, and all images requested meanwhile are rendered together.
final class OriginalGroup: Sendable {
    typealias Pool = SharedTaskPool<Key, OriginalGroup, Void>

    /// Properties that requests must have in common.
    struct Key: Hashable, Sendable {
        private let file: FileKey
        private let limits: DecodingLimits

        /// - Parameter epoch: the original's, when it was asked for.
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

    /// False when it is too late.
    func add(_ job: RenderJob) -> Bool {
        state.withLock { state in
            if state.isClosed { return false }
            state.jobs.append(job)
            return true
        }
    }

    /// The fetch of the original, once it has begun.
    var fetch: Fetch? { state.withLock { $0.fetch } }

    /// Notes the fetch of the original, for those who watch it.
    func follow(_ fetch: Fetch) {
        let jobs = state.withLock { state in
            state.fetch = fetch
            return state.jobs
        }
        for job in jobs { job.work.follow(fetch) }
    }

    /// Takes the jobs out; nobody joins any more.
    func close() -> [RenderJob] {
        state.withLock { state in
            state.isClosed = true
            defer { state.jobs = [] }
            return state.jobs
        }
    }
}
