public import ImageCodec

/// An effect of an application on the pixels of an image.
///
///     request.processors = [.circle, ImageProcessor(Watermark(logo))]
///
/// The effect is applied to the resized image, within the limits of the image's budget. It is called on several threads concurrently.
public protocol ImageProcessing: Sendable {
    /// The name, version and parameters of the effect, which are part of the key of its results.
    var identity: String { get }

    /// Applies the effect.
    ///
    /// - Parameters:
    ///   - image: The resized image.
    ///   - budget: The limits and the remaining time; long work should call ``ImageBudget/check()``.
    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage

    /// True if images of equal size have results of equal size. Default true. If false, only the first frame of an animation is rendered.
    var hasOneSize: Bool { get }

    /// The memory that the effect needs in addition to its input, in bytes. Default: 8 for each pixel.
    func memory(width: Int, height: Int) -> Int
}

extension ImageProcessing {
    public var hasOneSize: Bool { true }

    public func memory(width: Int, height: Int) -> Int { width * height * 8 }
}
