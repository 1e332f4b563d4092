public import ImageCodec

/// A step that changes an image's pixels. Two are equal, and share what is cached, when they do the same.
public struct ImageProcessor: Sendable, Hashable {
    /// What tells this step from others: part of the key that its result is cached under.
    public let identity: String
    private let change: @Sendable (DecodedImage) throws(ImageCodecError) -> DecodedImage

    /// A step of the application's own.
    ///
    /// - Parameters:
    ///   - identity: Must differ for steps that do different things, parameters and version included.
    ///   - change: Runs on a decoding thread; it may take its time.
    public init(
        identity: String, _ change: @escaping @Sendable (DecodedImage) throws(ImageCodecError) -> DecodedImage
    ) {
        self.identity = identity
        self.change = change
    }

    func process(_ image: DecodedImage) throws(ImageCodecError) -> DecodedImage { try change(image) }

    public static func == (left: Self, right: Self) -> Bool { left.identity == right.identity }
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

extension ImageProcessor {
    /// Brings the image to another size.
    public static func resize(_ sizing: ImageSizing) -> ImageProcessor {
        ImageProcessor(identity: "resize(\(sizing.recipe))") { image throws(ImageCodecError) in
            try image.resized(to: sizing)
        }
    }
}
