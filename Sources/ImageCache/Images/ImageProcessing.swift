public import ImageCodec

/// An effect of an application's own on the pixels of an image.
///
///     request.processors = [.circle, ImageProcessor(Watermark(logo))]
///
/// It works on the resized image, within the limits of the image's budget. Calls come from several threads at a time.
public protocol ImageProcessing: Sendable {
    /// The name and version of the effect, with its parameters: part of the key under which its results are kept.
    var identity: String { get }

    /// Applies the effect.
    ///
    /// - Parameters:
    ///   - image: The image's pixels, resized.
    ///   - budget: The limits and the remaining time; ``ImageBudget/check()`` stops long work.
    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage

    /// True if images of one size get results of one size. Default: true. False: of an animation the first frame alone is rendered.
    var hasOneSize: Bool { get }

    /// Bytes of memory that the effect takes beside the image that it gets. Default: 8 for each pixel.
    func memory(width: Int, height: Int) -> Int
}

extension ImageProcessing {
    public var hasOneSize: Bool { true }

    public func memory(width: Int, height: Int) -> Int { width * height * 8 }
}
