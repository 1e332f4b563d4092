import ImageCodec
import ImageEffects

/// The steps from an original to a derived image. Its ``text`` identifies the image on disk.
struct ImageRecipe: Sendable, Hashable {
    /// The result.
    enum Output: Sendable, Hashable {
        case pixels
        case encoded(ImageEncoder)
        /// JPEG for a JPEG, PNG for a PNG, GIF for all frames of an animation. For others JPEG, or PNG if there is transparency.
        case likeOriginal(ImageEncoder.JPEGOptions)
        /// AVIF for areas that are worth its encoding time, otherwise WebP.
        case avifIfLarge(ImageEncoder.AVIFOptions, else: ImageEncoder.WebPOptions)
        /// Properties and placeholders as JSON.
        case description
    }

    let sizing: ImageSizing?
    let processors: [ImageProcessor]
    let decoding: Decoding
    let output: Output
    /// True if the result of an animated original has all frames.
    let keepsAnimation: Bool

    /// The options of the decoder that affect the pixels.
    struct Decoding: Sendable, Hashable {
        let allowsTruncated: Bool
        let color: ImageDecoder.ColorHandling
        let keepsMetadata: Bool
        let appliesOrientation: Bool
        let usesLinearLight: Bool
        let frame: Int

        init(_ decoder: ImageDecoder) {
            allowsTruncated = decoder.allowTruncated
            color = decoder.color
            keepsMetadata = decoder.keepsMetadata
            appliesOrientation = decoder.appliesOrientation
            usesLinearLight = decoder.usesLinearLight
            frame = decoder.frame
        }
    }

    init(_ request: ImageRequest, _ output: Output) {
        sizing = request.sizing
        processors = request.processors
        decoding = Decoding(request.decoder)
        self.output = output
        keepsAnimation =
            request.keepsAnimation && request.decoder.frame == 0 && output.animationEncoder != nil
            && processors.allSatisfy(\.hasOneSize)
    }

    /// True if the result is the original's own pixels, which are not stored separately.
    var isOriginal: Bool { sizing == nil && processors.isEmpty && output == .pixels }

    /// The encoder for the stored result: pixels are stored losslessly.
    var storedEncoder: ImageEncoder {
        switch output {
        case .pixels, .likeOriginal, .description: .png(level: 1)
        case .encoded(let encoder): encoder
        case .avifIfLarge(_, let webP): ImageEncoder(.webp(webP))
        }
    }

    /// The identifier of the result with the built-in decoders, which is the same in all runs.
    var text: String { text(decoder: nil) }

    /// The identifier of the result with an application's decoder, given its identity; nil: the built-in decoders.
    func text(decoder: String?) -> String {
        var parts = [sizing?.recipe ?? "whole"]
        parts += processors.map(\.identity)
        if decoding.allowsTruncated { parts.append("truncated") }
        if decoding.color == .keepProfile { parts.append("profile") }
        if decoding.keepsMetadata { parts.append("metadata") }
        if !decoding.appliesOrientation { parts.append("unturned") }
        if decoding.usesLinearLight { parts.append("linear") }
        if decoding.frame != 0 { parts.append("frame=\(decoding.frame)") }
        if keepsAnimation { parts.append("animated") }
        if let decoder { parts.append("decoder=\(decoder)") }
        switch output {
        case .pixels: parts.append("pixels")
        case .description: parts.append("description 1")
        case .encoded(let encoder): parts.append(encoder.recipe)
        case .likeOriginal(let options): parts.append("like," + ImageEncoder(.jpeg(options)).recipe)
        case .avifIfLarge(let avif, let webP):
            parts.append(
                "large," + [ImageEncoder(.avif(avif)), ImageEncoder(.webp(webP))].map(\.recipe).joined(separator: ","))
        }
        // The parts have their lengths, because a processor's identity may be any text.
        return parts.map { "\($0.utf8.count):\($0)" }.joined(separator: " ")
    }
}

extension ImageRecipe.Output {
    /// The encoder for an animated original; nil if the result is a still image.
    var animationEncoder: ImageEncoder? {
        switch self {
        case .encoded(let encoder) where encoder.holdsAnimations: encoder
        case .avifIfLarge(_, let webP): ImageEncoder(.webp(webP))
        case .likeOriginal: .gif()
        case .encoded, .pixels, .description: nil
        }
    }
}

extension ImageRecipe.Output {
    /// The format of a result's bytes; nil if it is unknown.
    func format(of bytes: [UInt8]) -> ImageFormat? {
        switch self {
        case .description: return .json
        case .encoded(let encoder) where !encoder.format.isImage: return encoder.format
        default: return ImageFormat.detect(bytes.prefix(ImageFormat.signatureLength))
        }
    }
}
