import ConcurrencyPrimitives
import ImageCodec
import WorkerProcesses

/// An image that is to be rendered from an original, for those who wait for it.
final class RenderJob: Sendable {
    let request: ImageRequest
    let key: ImageKey
    /// The work that the job is part of.
    let work: ImageWork
    /// Stops the work when nobody waits for it, also while it runs.
    let cancellation = ImageCancellation()
    private let result = Promise<Result<ImagePipeline.RenderedImage, ImageCacheError>>()
    /// Weak: the batch holds its jobs, and with them the original's file.
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

    /// The image. When the calling task is cancelled, the work for it ends.
    ///
    /// - Parameter group: The subscription that loads the original, kept until then.
    func value(of group: OriginalGroup.Pool.Subscription? = nil) async throws(ImageCacheError)
        -> ImagePipeline.RenderedImage
    {
        let outcome = await withTaskCancellationHandler {
            await result.value()
        } onCancel: {
            cancel()
        }
        return try (outcome ?? .failure(.cancelled)).get()
    }

    /// Notes the batch that the job is part of.
    func join(_ batch: RenderBatch) {
        self.batch.withLock { $0.value = batch }
        // It may have been cancelled at the same moment.
        if cancellation.isCancelled { batch.jobWasCancelled() }
    }

    private func cancel() {
        cancellation.cancel()
        batch.withLock { $0.value }?.jobWasCancelled()
    }
}

/// A job, what it needs of its original, and what that costs.
struct PlannedJob: Sendable {
    let job: RenderJob
    let file: CachedFile
    let header: ImageHeader
    /// The work that reading the header was. It is charged to each image.
    let headerWork: WorkerUse
    let target: DecodingTarget
    /// Bytes that it takes at a time, beside the decoder's.
    let memory: Int
    /// A measure of its work beside the decode of one frame: pixels.
    let pixels: Int
    /// The encoder for all frames of an animation; nil: a still image.
    let animationEncoder: ImageEncoder?

    /// A budget for the image, to which its header is charged.
    var budget: ImageBudget {
        let budget = ImageBudget(limits: job.request.decoder.limits, cancellation: job.cancellation)
        budget.charge(headerWork.seconds)
        return budget
    }

    /// - Throws: the error with which it would end.
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
