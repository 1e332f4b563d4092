import Glibc
import ImageCodec
import WorkerProcesses

extension ImageIsolation {
    /// The header of a file.
    func header(
        of descriptor: Int32, byteCount: Int, _ decoder: ImageDecoder, _ cancellation: ImageCancellation?
    ) throws(ImageCodecError) -> ImageHeader {
        var result: Result<ImageHeader, ImageCodecError>?
        try run(
            ImageWorkRequest(decoder: decoder, work: .header(byteCount: byteCount)), descriptor, byteCount,
            seconds: decoder.limits.seconds, isCancelled: { cancellation?.isCancelled ?? false }
        ) { answer, _ in
            switch answer {
            case .header(let header) where header.isPossible(within: decoder.limits): result = .success(header)
            case .failure(let error): result = .failure(error)
            default: return nil
            }
            return true
        }
        return try (result ?? .failure(ImageCodecError(.failed, "no header"))).get()
    }

    /// A file's pixels in a size.
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

    /// A file in another size, encoded: all its frames, or the one that the decoder names.
    func thumbnail(
        of descriptor: Int32, byteCount: Int, _ sizing: ImageSizing, _ decoder: ImageDecoder, as encoder: ImageEncoder,
        keepsAnimation: Bool
    ) throws(ImageCodecError) -> EncodedImage {
        var rendering = ImageWorkRequest.Rendering()
        rendering.source = .file(byteCount: byteCount)
        rendering.jobs = [
            ImageWorkRequest.Job(sizing: sizing, steps: PortableSteps(processors: [], output: .encoded(encoder)))
        ]
        if keepsAnimation, decoder.frame == 0, encoder.holdsAnimations {
            let header = try header(of: descriptor, byteCount: byteCount, decoder, nil)
            rendering.header = header.bare
            if header.isAnimated { rendering.animationEncoder = encoder }
        }
        let request = ImageWorkRequest(decoder: decoder, work: .render(rendering))
        let rendered = try content(for: request, descriptor, byteCount)
        guard let rendered, case .encoded(let bytes, encoder.format, let width, let height) = rendered.content else {
            throw ImageCodecError(.failed, "no image")
        }
        return EncodedImage(bytes: bytes, width: width, height: height, damage: rendered.damage)
    }

    /// The only image of a request for pixels; nil: there is none.
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

    /// The only result of a request; nil: there is none.
    func content(
        for request: ImageWorkRequest, _ descriptor: Int32, _ byteCount: Int, in session: WorkerSession? = nil,
        isCancelled: () -> Bool = { false }
    ) throws(ImageCodecError) -> RenderedContent? {
        var result: Result<RenderedContent?, ImageCodecError> = .success(nil)
        try run(
            request, descriptor, byteCount, in: session, seconds: request.decoder.limits.seconds,
            isCancelled: isCancelled
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

    private func run(
        _ request: ImageWorkRequest, _ descriptor: Int32, _ byteCount: Int, in session: WorkerSession? = nil,
        seconds: Double, isCancelled: () -> Bool, _ receive: (ImageWorkAnswer, WorkerMessage) -> Bool?
    ) throws(ImageCodecError) {
        guard let copy = OpenDescriptor(reading: descriptor) else { throw .tooManyDescriptors }
        try run(
            request, copy, in: session, seconds: seconds + 1, file: (descriptor, byteCount), isCancelled: isCancelled,
            receive: receive)
    }
}

extension ImageCodecError {
    static let tooManyDescriptors = ImageCodecError(.unreadable, "too many open files")
}
