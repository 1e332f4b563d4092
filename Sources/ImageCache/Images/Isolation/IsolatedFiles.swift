import ImageCodec
package import ImageEffects
import Logging
import WorkerProcesses

/// Decodes files outside of a cache in worker processes. All functions block the thread.
package final class IsolatedFiles: Sendable {
    private let isolation: ImageIsolation

    /// - Parameter width: The maximum number of concurrent files.
    package init(_ configuration: DecoderIsolation, width: Int) {
        // The caller, who knows the file, reports crashes.
        let logger = Logger(label: "imgcache") { _ in SwiftLogNoOpLogHandler() }
        isolation = ImageIsolation(configuration, decodes: width, memory: DecodingLimits().memory, logger: logger)
    }

    /// True if a file is decoded in a worker.
    package func isUsed(for source: ImageSource) -> Bool { isolation.isUsed(for: source) }

    /// The properties in a file's header, read in a worker where one must be used.
    package func info(of source: ImageSource) throws(ImageCodecError) -> ImageInfo {
        guard isUsed(for: source) else { return try ImageInfo.read(source) }
        let file = OpenDescriptor(owning: try source.descriptor())
        return ImageInfo(try header(of: file, byteCount: source.byteCount, ImageDecoder()))
    }

    /// The properties of a file, and its placeholders, made in a worker where one must be used.
    package func description(of source: ImageSource) throws(ImageCodecError) -> ImageDescription {
        guard isUsed(for: source) else { return try ImageDescription(source) }
        let (decoder, file) = (ImageDecoder(), OpenDescriptor(owning: try source.descriptor()))
        let header = try header(of: file, byteCount: source.byteCount, decoder)
        let image = try isolation.image(of: file.number, byteCount: source.byteCount, .placeholder, decoder)
        return try ImageDescription(header, image, within: ImageBudget(limits: decoder.limits))
    }

    private func header(
        of file: OpenDescriptor, byteCount: Int, _ decoder: ImageDecoder
    ) throws(ImageCodecError) -> ImageHeader {
        try isolation.header(of: file.number, byteCount: byteCount, decoder, nil).header
    }

    /// Decodes a file in a size; `nil`: in its own.
    package func image(
        of source: ImageSource, _ sizing: ImageSizing?, _ decoder: ImageDecoder
    ) throws(ImageCodecError) -> DecodedImage {
        let descriptor = OpenDescriptor(owning: try source.descriptor())
        return try isolation.image(of: descriptor.number, byteCount: source.byteCount, sizing, decoder)
    }

    /// Encodes a file in another size: all its frames, or the frame that the decoder selects.
    ///
    /// - Parameters:
    ///   - processors: The effects on each frame.
    ///   - keepsAnimation: True for all frames of an animation, if the format supports them.
    package func thumbnail(
        of source: ImageSource, _ sizing: ImageSizing?, _ decoder: ImageDecoder, _ processors: [ImageProcessor],
        as encoder: ImageEncoder, keepsAnimation: Bool
    ) throws(ImageCodecError) -> EncodedImage {
        let file = OpenDescriptor(owning: try source.descriptor())
        return try isolation.thumbnail(
            of: file.number, byteCount: source.byteCount, sizing, decoder, processors, as: encoder,
            keepsAnimation: keepsAnimation)
    }
}
