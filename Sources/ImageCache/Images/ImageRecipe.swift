import ImageCodec

/// What is made of an original: all that decides how the result looks. A value, compared as one; its ``text`` names the
/// result on disk.
struct ImageRecipe: Sendable, Hashable {
    /// What comes out.
    enum Output: Sendable, Hashable {
        case pixels
        case encoded(ImageEncoder)
        /// A JPEG of a JPEG, a PNG of a PNG; of others the one that holds all pixels.
        case likeOriginal(ImageEncoder.JPEGOptions)
    }

    let sizing: ImageSizing?
    let processors: [ImageProcessor]
    let decoding: Decoding
    let output: Output

    /// What of the decoder changes the pixels.
    struct Decoding: Sendable, Hashable {
        let allowsTruncated: Bool
        let color: ImageDecoder.ColorHandling
        let keepsMetadata: Bool
        let appliesOrientation: Bool
        let usesLinearLight: Bool

        init(_ decoder: ImageDecoder) {
            allowsTruncated = decoder.allowTruncated
            color = decoder.color
            keepsMetadata = decoder.keepsMetadata
            appliesOrientation = decoder.appliesOrientation
            usesLinearLight = decoder.usesLinearLight
        }
    }

    init(_ request: ImageRequest, _ output: Output) {
        sizing = request.sizing
        processors = request.processors
        decoding = Decoding(request.decoder)
        self.output = output
    }

    /// Whether the result is nothing but the original's own pixels: no use storing that beside the original.
    var isOriginal: Bool { sizing == nil && processors.isEmpty && output == .pixels }

    /// What the result is stored as: pixels without loss.
    var storedEncoder: ImageEncoder {
        switch output {
        case .pixels, .likeOriginal: .png(level: 1)
        case .encoded(let encoder): encoder
        }
    }

    /// One name for one result, the same in every run of the program.
    var text: String {
        var parts = [sizing?.recipe ?? "whole"]
        parts += processors.map(\.identity)
        if decoding.allowsTruncated { parts.append("truncated") }
        if decoding.color == .keepProfile { parts.append("profile") }
        if decoding.keepsMetadata { parts.append("metadata") }
        if !decoding.appliesOrientation { parts.append("unturned") }
        if decoding.usesLinearLight { parts.append("linear") }
        switch output {
        case .pixels: parts.append("pixels")
        case .encoded(let encoder): parts.append(encoder.recipe)
        case .likeOriginal(let options): parts.append("like," + ImageEncoder(.jpeg(options)).recipe)
        }
        // A processor's identity may hold anything.
        return parts.map { "\($0.utf8.count):\($0)" }.joined(separator: " ")
    }
}

extension ImageSizing {
    /// One text for one sizing.
    var recipe: String {
        let box = "\(width.map(String.init) ?? "")x\(height.map(String.init) ?? "")"
        var text = "\(box),\(fit.rawValue)"
        if position != .center { text += ",at=\(position)" }
        if allowsEnlargement { text += ",enlarge" }
        if devicePixelRatio != 1 { text += ",dpr=\(devicePixelRatio)" }
        if let background { text += ",on=\(background.red).\(background.green).\(background.blue)" }
        return text
    }
}
