import ImageCodec

extension ImageRecipe.Output {
    /// True if another process can make it: without an application's own encoder.
    var canBeSent: Bool {
        guard case .encoded(let encoder) = self else { return true }
        return encoder.canBeSent || placeholder != nil
    }

    /// True for content as is asked for: which media type clients are told is not a worker's choice.
    func allows(_ content: DerivedImage.Content, animationEncoder: ImageEncoder? = nil) -> Bool {
        switch (self, content) {
        case (.pixels, .pixels): true
        case (.pixels, _), (_, .pixels): false
        case (.description, .encoded(_, let format, width: _, height: _)): format == .json
        case (_, .encoded(_, let format, width: _, height: _)):
            encoders.contains { $0.format == format } || format == animationEncoder?.format
        }
    }

    /// The placeholder that is written in place of an image file.
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

extension PlaceholderEncoding: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(raw: &placeholder)
        try coder.code(&isJSON)
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
    /// The part of the steps that a worker does, and the rest: an application's own effects and encoders, and whatever comes after them.
    var divided: (sent: PortableSteps, own: RenderSteps?) {
        let first = processors.prefix { $0.portable != nil }
        let sent = first.compactMap(\.portable)
        guard first.count == processors.count, output.canBeSent else {
            let own = RenderSteps(processors: Array(processors.dropFirst(first.count)), output: output)
            return (PortableSteps(processors: sent, output: .pixels), own)
        }
        return (PortableSteps(processors: sent, output: output), nil)
    }
}

/// Steps that a worker can do.
struct PortableSteps: Sendable {
    var processors: [PortableProcessor] = []
    var output = ImageRecipe.Output.pixels

    var steps: RenderSteps { RenderSteps(processors: processors.map(\.processor), output: output) }
}

extension PortableSteps: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&processors, most: 1_000, from: .circle)
        try coder.code(&output)
    }
}
