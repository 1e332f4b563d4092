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
            seconds: decoder.limits.seconds, cancellation
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
        var result: Result<DecodedImage, ImageCodecError>?
        try run(
            ImageWorkRequest(decoder: decoder, work: .render(rendering)), descriptor, byteCount,
            seconds: decoder.limits.seconds, nil
        ) { answer, _ in
            switch answer {
            case .image(job: 0, .success(let rendered)):
                guard case .pixels(let image) = rendered.content else { return nil }
                result = .success(image)
                return false
            case .image(job: 0, .failure(let error)), .failure(let error): result = .failure(error)
            case .end: return true
            default: return nil
            }
            if case .failure = answer { return true }
            return false
        }
        return try (result ?? .failure(ImageCodecError(.failed, "no pixels"))).get()
    }

    private func run(
        _ request: ImageWorkRequest, _ descriptor: Int32, _ byteCount: Int, seconds: Double,
        _ cancellation: ImageCancellation?, _ receive: (ImageWorkAnswer, WorkerMessage) -> Bool?
    ) throws(ImageCodecError) {
        guard let copy = OpenDescriptor(duplicating: descriptor) else { throw .tooManyDescriptors }
        try run(
            request, copy, seconds: seconds + 1, file: (descriptor, byteCount),
            isCancelled: { cancellation?.isCancelled ?? false }, receive: receive)
    }
}

extension ImageCodecError {
    static let tooManyDescriptors = ImageCodecError(.unreadable, "too many open files")
}
