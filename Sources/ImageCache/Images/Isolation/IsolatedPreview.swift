import ImageCodec
import ImageEffects
import WorkerProcesses

/// Decodes previews in a worker. Effects of an application run in this process.
final class IsolatedPreview: PreviewReading {
    private let request: ImageRequest
    private let isolation: ImageIsolation
    private let cancellation: ImageCancellation
    private let session: WorkerSession
    private let steps: (sent: RenderSteps, own: RenderSteps?)

    init(
        _ request: ImageRequest, _ isolation: ImageIsolation, _ cancellation: ImageCancellation
    ) throws(ImageCodecError) {
        self.request = request
        self.cancellation = cancellation
        self.isolation = isolation
        session = try isolation.session()
        steps = RenderSteps(processors: request.processors, output: .pixels).divided
    }

    func image(of descriptor: Int32, byteCount: Int) throws(ImageCodecError) -> DecodedImage? {
        var preview = ImageWorkRequest.Preview()
        (preview.session, preview.byteCount) = (session.number, byteCount)
        preview.job = ImageWorkRequest.Job(sizing: request.sizing, steps: steps.sent)
        let image = try isolation.image(
            for: ImageWorkRequest(decoder: request.decoder, work: .preview(preview)), descriptor, byteCount,
            in: session, isCancelled: { cancellation.isCancelled })
        guard let image, let own = steps.own else { return image }
        return try own.processors.process(
            image, within: ImageBudget(limits: request.decoder.limits, cancellation: cancellation))
    }
}

extension ImageRenderer {
    /// Decodes previews of a JPEG, in a worker if there is one for it.
    func preview(
        of request: ImageRequest, _ cancellation: ImageCancellation
    ) throws(ImageCodecError) -> any PreviewReading {
        guard let isolation, isolation.isUsed(for: .jpeg) else {
            return OwnPreview(request.sizing, request.processors, request.decoder, cancellation)
        }
        return try IsolatedPreview(request, isolation, cancellation)
    }
}
