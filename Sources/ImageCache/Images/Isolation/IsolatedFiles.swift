import ImageCodec
import Logging
import WorkerProcesses

/// Has files that are in no cache decoded by worker processes. Its functions block the thread.
package final class IsolatedFiles: Sendable {
    private let isolation: ImageIsolation

    /// - Parameter width: The most files at a time.
    package init(_ configuration: DecoderIsolation, width: Int) {
        // The error tells of a crash to the caller, who knows the file.
        let logger = Logger(label: "imgcache") { _ in SwiftLogNoOpLogHandler() }
        isolation = ImageIsolation(configuration, decodes: width, memory: DecodingLimits().memory, logger: logger)
    }

    /// The pixels of a file in a size.
    package func image(
        of source: ImageSource, _ sizing: ImageSizing, _ decoder: ImageDecoder
    ) throws(ImageCodecError) -> DecodedImage {
        let descriptor = OpenDescriptor(owning: try source.descriptor())
        return try isolation.image(of: descriptor.number, byteCount: source.byteCount, sizing, decoder)
    }

    /// Encodes a file in another size: all its frames, or the one that the decoder names.
    ///
    /// - Parameter keepsAnimation: True for all frames of an animation, if the format holds them.
    package func thumbnail(
        of source: ImageSource, _ sizing: ImageSizing, _ decoder: ImageDecoder, as encoder: ImageEncoder,
        keepsAnimation: Bool
    ) throws(ImageCodecError) -> EncodedImage {
        let (file, byteCount) = (OpenDescriptor(owning: try source.descriptor()), source.byteCount)
        var rendering = ImageWorkRequest.Rendering()
        rendering.source = .file(byteCount: byteCount)
        rendering.jobs = [
            ImageWorkRequest.Job(sizing: sizing, steps: PortableSteps(processors: [], output: .encoded(encoder)))
        ]
        if keepsAnimation, decoder.frame == 0, encoder.holdsAnimations,
            try isolation.header(of: file.number, byteCount: byteCount, decoder, nil).isAnimated
        {
            rendering.animationEncoder = encoder
        }
        let request = ImageWorkRequest(decoder: decoder, work: .render(rendering))
        let rendered = try isolation.content(for: request, file.number, byteCount)
        guard let rendered, case .encoded(let bytes, encoder.format, let width, let height) = rendered.content else {
            throw ImageCodecError(.failed, "no image")
        }
        return EncodedImage(bytes: bytes, width: width, height: height, damage: rendered.damage)
    }
}
