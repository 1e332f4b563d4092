import Glibc
import ImageCodec
import ImageEffects
import WorkerProcesses

extension ImageIsolation {
    /// The header of a file.
    func header(
        of descriptor: Int32, byteCount: Int, _ decoder: ImageDecoder, _ cancellation: ImageCancellation?
    ) throws(ImageCodecError) -> MeasuredHeader {
        var result: Result<ImageHeader, ImageCodecError>?
        let work = try run(
            ImageWorkRequest(decoder: decoder, work: .header(byteCount: byteCount)), descriptor, byteCount,
            isCancelled: { cancellation?.isCancelled ?? false }
        ) { answer, _ in
            switch answer {
            case .header(let header) where header.isPossible(within: decoder.limits): result = .success(header)
            case .failure(let error): result = .failure(error)
            default: return nil
            }
            return true
        }
        let header = try (result ?? .failure(ImageCodecError(.failed, "no header"))).get()
        return MeasuredHeader(header: header, work: work)
    }

    /// The pixels of a file in a size.
    func image(
        of descriptor: Int32, byteCount: Int, _ sizing: ImageSizing?, _ decoder: ImageDecoder
    ) throws(ImageCodecError) -> DecodedImage {
        var rendering = ImageWorkRequest.Rendering()
        rendering.source = .file(byteCount: byteCount)
        rendering.jobs = [ImageWorkRequest.Job(sizing: sizing)]
        let request = ImageWorkRequest(decoder: decoder, work: .render(rendering))
        guard let image = try image(for: request, descriptor, byteCount) else {
            throw ImageCodecError(.failed, "no pixels")
        }
        return image
    }

    /// Encodes a file in another size: all its frames, or the frame that the decoder selects.
    ///
    /// - Parameters:
    ///   - processors: The effects on each frame.
    ///   - headerWork: The time already spent on the file.
    func thumbnail(
        of descriptor: Int32, byteCount: Int, _ sizing: ImageSizing?, _ decoder: ImageDecoder,
        _ processors: [ImageProcessor] = [], as encoder: ImageEncoder, keepsAnimation: Bool,
        after headerWork: WorkerUse = WorkerUse()
    ) throws(ImageCodecError) -> EncodedImage {
        var (rendering, headerWork) = (ImageWorkRequest.Rendering(), headerWork)
        rendering.source = .file(byteCount: byteCount)
        if keepsAnimation, decoder.frame == 0, encoder.holdsAnimations {
            let read = try header(of: descriptor, byteCount: byteCount, decoder, nil)
            headerWork = read.work
            if read.header.isAnimated { rendering.animationEncoder = encoder }
        }
        let steps = RenderSteps(processors: processors, output: .encoded(encoder))
        rendering.jobs = [ImageWorkRequest.Job(sizing: sizing, steps: steps, spent: headerWork.seconds)]
        let request = ImageWorkRequest(decoder: decoder, work: .render(rendering))
        let rendered = try content(for: request, descriptor, byteCount, after: headerWork)
        guard let rendered, case .encoded(let bytes, encoder.format, let width, let height) = rendered.content else {
            throw ImageCodecError(.failed, "no image")
        }
        return EncodedImage(bytes: bytes, width: width, height: height, damage: rendered.damage)
    }

    /// The only image of a request for pixels; nil if there is none.
    func image(
        for request: ImageWorkRequest, _ descriptor: Int32, _ byteCount: Int, in session: WorkerSession? = nil,
        isCancelled: () -> Bool = { false }
    ) throws(ImageCodecError) -> DecodedImage? {
        guard
            let rendered = try content(
                for: request, descriptor, byteCount, in: session, isCancelled: isCancelled)
        else { return nil }
        guard case .pixels(let image) = rendered.content else { throw ImageCodecError(.failed, "no pixels") }
        return image
    }

    /// The only result of a request; nil if there is none.
    func content(
        for request: ImageWorkRequest, _ descriptor: Int32, _ byteCount: Int, in session: WorkerSession? = nil,
        after earlier: WorkerUse = WorkerUse(), isCancelled: () -> Bool = { false }
    ) throws(ImageCodecError) -> RenderedContent? {
        var result: Result<RenderedContent?, ImageCodecError> = .success(nil)
        try run(
            request, descriptor, byteCount, in: session, after: earlier, isCancelled: isCancelled
        ) { answer, _ in
            switch answer {
            case .image(job: 0, .success(let rendered)):
                result = .success(rendered)
                return false
            case .image(job: 0, .failure(let error)):
                result = .failure(error)
                return false
            case .failure(let error):
                result = .failure(error)
                return true
            case .end: return true
            default: return nil
            }
        }
        return try result.get()
    }

    @discardableResult
    private func run(
        _ request: ImageWorkRequest, _ descriptor: Int32, _ byteCount: Int, in session: WorkerSession? = nil,
        after earlier: WorkerUse = WorkerUse(), isCancelled: () -> Bool,
        _ receive: (ImageWorkAnswer, WorkerMessage) -> Bool?
    ) throws(ImageCodecError) -> WorkerUse {
        guard let copy = OpenDescriptor(reading: descriptor) else { throw .tooManyDescriptors }
        return try run(
            request, copy, in: session, limit: request.decoder.limits.seconds, after: earlier,
            file: (descriptor, byteCount), isCancelled: isCancelled, receive: receive)
    }
}

extension ImageCodecError {
    static let tooManyDescriptors = ImageCodecError(.unreadable, "too many open files")
}
