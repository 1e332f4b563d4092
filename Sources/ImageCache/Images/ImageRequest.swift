public import FoundationEssentials
public import ImageCodec
public import ImageEffects

/// A request for an image with a size and effects.
///
///     var request = ImageRequest("https://example.com/picture.jpg", .cover(256, 256))
///     request.processors = [.roundedCorners(radius: 12)]
public struct ImageRequest: Sendable {
    /// The request for the original.
    public var file: FileRequest

    /// The size; `nil` for the original size.
    public var sizing: ImageSizing?

    /// The effects, which are applied in order after resizing.
    public var processors: [ImageProcessor] = []

    /// Limits, colour, orientation, and the handling of truncated files.
    public var decoder = ImageDecoder()

    /// True to keep animations: a thumbnail of an animated GIF or WebP has all frames if its format supports them (WebP, GIF). False to
    /// render only the first frame. Default true. Decoded images, and a frame that ``decoder`` selects, are always stills.
    public var keepsAnimation = true

    /// The files to store on disk. Default: the original and the derived image.
    public var storing = Storing.originalAndProcessed

    /// The files to store on disk.
    public enum Storing: Sendable, Hashable {
        case originalAndProcessed
        /// Only the original. An image that is no longer in memory is rendered again.
        case originalOnly
        /// Only the derived image. The original is removed when the derived image is stored. When it is stale, it is revalidated with the
        /// original's validator, and the original is downloaded again only if it has changed.
        case processedOnly
    }

    public init(_ file: FileRequest, _ sizing: ImageSizing? = nil) {
        self.file = file
        self.sizing = sizing
    }

    public init(_ url: String, _ sizing: ImageSizing? = nil) { self.init(FileRequest(url), sizing) }

    public init(_ url: URL, _ sizing: ImageSizing? = nil) { self.init(FileRequest(url), sizing) }
}
