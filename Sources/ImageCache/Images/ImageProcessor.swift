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

    /// Keeps a part, in pixels from the upper left; what lies outside the image is an error.
    public static func crop(x: Int, y: Int, width: Int, height: Int) -> ImageProcessor {
        ImageProcessor(identity: "crop(\(x),\(y),\(width)x\(height))") { image throws(ImageCodecError) in
            try image.cropped(x: x, y: y, width: width, height: height)
        }
    }

    /// Makes the corners transparent.
    ///
    /// - Parameter radius: in pixels of the image as it is then.
    public static func roundedCorners(radius: Double) -> ImageProcessor {
        ImageProcessor(identity: "corners(\(radius))") { image throws(ImageCodecError) in
            try image.roundingCorners(radius: radius)
        }
    }

    /// Keeps the largest circle in the middle.
    public static var circle: ImageProcessor {
        ImageProcessor(identity: "circle") { image throws(ImageCodecError) in try image.circled() }
    }

    public static var grayscale: ImageProcessor {
        ImageProcessor(identity: "grayscale") { image throws(ImageCodecError) in try image.grayscaled() }
    }

    /// A Gaussian blur.
    ///
    /// - Parameter sigma: its standard deviation in pixels.
    public static func blur(sigma: Double) -> ImageProcessor {
        ImageProcessor(identity: "blur(\(sigma))") { image throws(ImageCodecError) in try image.blurred(sigma: sigma) }
    }
}
