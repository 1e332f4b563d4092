import ConcurrencyPrimitives
import ImageCodec
import Transfer

/// Jobs that share one decode: images of one original whose pixels come from the same decoded rows. Each image is rendered separately from
/// the rows, so that it does not depend on the others.
final class RenderBatch: Sendable {
    /// The properties that the jobs must share.
    struct Key: Hashable {
        private enum Body: Hashable {
            case stored(Int64)
            case passing(ObjectIdentifier)
        }

        private let body: Body
        private let decoding: ImageRecipe.Decoding
        private let limits: DecodingLimits
        private let scale: DecodingScale
        private let priority: TransferPriority
        private let isAnimation: Bool

        init(_ planned: PlannedJob) {
            let (file, request) = (planned.file, planned.job.request)
            body = file.isStored ? .stored(file.body.entry.id) : .passing(ObjectIdentifier(file.body))
            decoding = ImageRecipe.Decoding(request.decoder)
            limits = request.decoder.limits
            scale = planned.target.scale
            priority = planned.job.work.priority
            isAnimation = planned.animationEncoder != nil
        }
    }

    private struct State {
        var jobs: [PlannedJob]
        var memory: Int
        var pixels: Int
        var isClosed = false
        var isAbandoned = false
        var task: Task<Void, Never>?
    }

    /// A batch is limited in size, so that its images do not delay each other or images of other originals for long.
    private static let mostJobs = 8
    private static let mostPixels = 1 << 23

    let first: PlannedJob
    /// Stops the shared decode.
    let cancellation = ImageCancellation()
    private let memoryLimit: Int
    private let state: Locked<State>

    init(_ first: PlannedJob, memoryLimit: Int) {
        self.first = first
        self.memoryLimit = memoryLimit
        let decoder = first.header.memory(at: first.target.scale)
        // The frames of an animation are decoded for one image only.
        state = Locked(
            State(
                jobs: [first], memory: decoder + first.memory, pixels: first.pixels,
                isClosed: first.animationEncoder != nil))
        first.job.join(self)
    }

    /// Returns false if the batch is closed or full.
    func add(_ planned: PlannedJob) -> Bool {
        let isAdded = state.withLock { state in
            guard !state.isClosed, !state.isAbandoned, state.jobs.count < Self.mostJobs,
                state.pixels + planned.pixels <= Self.mostPixels, state.memory + planned.memory <= memoryLimit
            else { return false }
            state.jobs.append(planned)
            state.memory += planned.memory
            state.pixels += planned.pixels
            return true
        }
        if isAdded { planned.job.join(self) }
        return isAdded
    }

    /// Closes the batch.
    ///
    /// - Returns: The memory that the batch needs, in bytes.
    func close() -> Int {
        state.withLock { state in
            state.isClosed = true
            return state.memory
        }
    }

    /// The jobs, in the order of their work, smallest first.
    var jobs: [PlannedJob] { state.withLock { $0.jobs }.sorted { $0.pixels < $1.pixels } }

    /// The amount of work in pixels.
    var cost: Int { first.header.pixelCount + state.withLock { $0.pixels } }

    /// Starts the work, which is cancelled when all jobs are.
    func start(_ work: @escaping @Sendable () async -> Void) {
        let task = Task { await work() }
        let isAbandoned = state.withLock { state in
            state.task = task
            return state.isAbandoned
        }
        if isAbandoned { task.cancel() }
    }

    func jobWasCancelled() {
        let task = state.withLock { state -> Task<Void, Never>?? in
            guard !state.isAbandoned, state.jobs.allSatisfy(\.job.cancellation.isCancelled) else { return nil }
            state.isAbandoned = true
            return .some(state.task)
        }
        guard let task else { return }
        cancellation.cancel()
        task?.cancel()
    }
}
