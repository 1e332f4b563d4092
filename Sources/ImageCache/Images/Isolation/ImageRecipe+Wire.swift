import ImageCodec
import ImageEffects

extension ImageRecipe.Output {
    /// True if a worker can produce the output, which is not the case for an application's encoder.
    var canBeSent: Bool {
        guard case .encoded(let encoder) = self else { return true }
        return encoder.canBeSent || placeholder != nil
    }

    /// True if the content has a requested form, so that a worker cannot choose the media type that clients receive.
    func allows(_ content: DerivedImage.Content, animationEncoder: ImageEncoder? = nil) -> Bool {
        switch (self, content) {
        case (.pixels, .pixels): true
        case (.pixels, _), (_, .pixels): false
        case (.description, .encoded(_, let format, width: _, height: _)): format == .json
        case (_, .encoded(_, let format, width: _, height: _)):
            encoders.contains { $0.format == format } || format == animationEncoder?.format
        }
    }

    /// The placeholder that replaces an image file.
    private var placeholder: PlaceholderEncoding? {
        guard case .encoded(let encoder) = self, case .custom(let custom) = encoder.options else { return nil }
        return custom.encoding as? PlaceholderEncoding
    }

    private var number: Int {
        switch self {
        case .pixels: 0
        case .description: 1
        case .encoded: placeholder == nil ? 2 : 5
        case .likeOriginal: 3
        case .avifIfLarge: 4
        }
    }
}

extension ImageRecipe.Output: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        switch try coder.code(case: number) {
        case 0: self = .pixels
        case 1: self = .description
        case 2:
            var encoder = if case .encoded(let own) = self { own } else { ImageEncoder.jpeg() }
            try coder.code(&encoder)
            self = .encoded(encoder)
        case 3:
            var options = if case .likeOriginal(let own) = self { own } else { ImageEncoder.JPEGOptions() }
            try coder.code(&options)
            self = .likeOriginal(options)
        case 4:
            var (avif, webP) = (ImageEncoder.AVIFOptions(), ImageEncoder.WebPOptions())
            if case .avifIfLarge(let own, let other) = self { (avif, webP) = (own, other) }
            try coder.code(&avif)
            try coder.code(&webP)
            self = .avifIfLarge(avif, else: webP)
        case 5:
            var placeholder = placeholder ?? PlaceholderEncoding(placeholder: .thumbHash, isJSON: false)
            try coder.code(&placeholder)
            self = .encoded(ImageEncoder(placeholder))
        default: throw WireCoder.Malformed()
        }
    }
}

extension RenderSteps {
    /// The steps that a worker performs, and the others: effects and encoders of an application, and all steps after them.
    var divided: (sent: RenderSteps, own: RenderSteps?) {
        let sent = Array(processors.prefix(while: \.isBuiltIn))
        guard sent.count == processors.count, output.canBeSent else {
            let own = RenderSteps(processors: Array(processors.dropFirst(sent.count)), output: output)
            return (RenderSteps(processors: sent, output: .pixels), own)
        }
        return (self, nil)
    }
}

extension RenderSteps: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&processors, most: 1_000, from: .circle)
        try coder.code(&output)
    }
}
