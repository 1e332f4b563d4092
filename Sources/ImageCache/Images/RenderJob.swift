import ConcurrencyPrimitives
import ImageCodec
import WorkerProcesses

/// An image to be rendered from an original.
final class RenderJob: Sendable {
    let request: ImageRequest
    let key: ImageKey
    /// The work that the job belongs to.
    let work: ImageWork
    /// Stops the work, even while it runs, when no request waits for it.
    let cancellation = ImageCancellation()
    /// Receives the steps of the request that began the work, if it is traced.
    let steps = RequestSteps.recorder
    private let result = Promise<Result<ImagePipeline.RenderedImage, ImageCacheError>>()
    /// Weak, because the batch holds its jobs, and thereby the file of the original.
    private let batch = Locked(WeakBatch())

    private struct WeakBatch {
        weak var value: RenderBatch?
    }

    init(_ request: ImageRequest, _ key: ImageKey, _ work: ImageWork) {
        self.request = request
        self.key = key
        self.work = work
    }

    var recipe: ImageRecipe { key.recipe }

    func fulfill(_ outcome: Result<ImagePipeline.RenderedImage, ImageCacheError>) { result.fulfill(outcome) }

    /// The image. If the calling task is cancelled, the work for it ends.
    ///
    /// - Parameter group: The subscription to the loading of the original, retained until the image is rendered.
    func value(of group: OriginalGroup.Pool.Subscription? = nil) async throws(ImageCacheError)
        -> ImagePipeline.RenderedImage
    {
        defer { withExtendedLifetime(group) {} }
        let outcome = await withTaskCancellationHandler {
            await result.value()
        } onCancel: {
            cancel()
        }
        return try (outcome ?? .failure(.cancelled)).get()
    }

    /// Records the batch that the job belongs to.
    func join(_ batch: RenderBatch) {
        self.batch.withLock { $0.value = batch }
        // It may have been cancelled at the same time.
        if cancellation.isCancelled { batch.jobWasCancelled() }
    }

    private func cancel() {
        cancellation.cancel()
        batch.withLock { $0.value }?.jobWasCancelled()
    }
}

/// A job with its original and its cost.
struct PlannedJob: Sendable {
    let job: RenderJob
    let file: CachedFile
    let header: ImageHeader
    /// The time spent on reading the header, which is charged to each image.
    let headerWork: WorkerUse
    let target: DecodingTarget
    /// The memory in bytes, without the decoder's.
    let memory: Int
    /// The amount of work in pixels, without the decode of one frame.
    let pixels: Int
    /// The encoder for all frames of an animation; nil for a still image.
    let animationEncoder: ImageEncoder?

    /// A budget for the image, to which the header is charged.
    var budget: ImageBudget {
        let budget = ImageBudget(limits: job.request.decoder.limits, cancellation: job.cancellation)
        budget.charge(headerWork.seconds)
        return budget
    }

    /// - Throws: The error of the job.
    init(_ job: RenderJob, _ file: CachedFile, _ read: MeasuredHeader) throws(ImageCodecError) {
        self.job = job
        self.file = file
        headerWork = read.work
        animationEncoder = job.recipe.animationEncoder(for: read.header)
        let header =
            animationEncoder == nil
            ? read.header.showing(frame: job.request.decoder.frame) : read.header.showingFrames
        self.header = header
        target = try job.request.decoder.target(job.request.sizing, of: header)
        guard let animationEncoder else {
            let rendering = job.recipe.footprint(of: target, mayHaveAlpha: header.mayHaveAlpha)
            memory = target.memory + rendering.memory
            pixels = target.width * target.height + rendering.pixels
            return
        }
        let limits = job.request.decoder.limits
        try limits.check(framesOf: header)
        let rendering = job.recipe.footprint(of: target, frames: header.frameCount, animationEncoder)
        memory = target.memory + rendering.memory
        pixels = rendering.pixels + header.pixelCountOfFrames - header.pixelCount
    }
}
