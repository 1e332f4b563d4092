public import FoundationEssentials
public import ImageCodec

/// A request for an image in a size and shape.
///
///     var request = ImageRequest("https://example.com/picture.jpg", .cover(256, 256))
///     request.processors = [.roundedCorners(radius: 12)]
public struct ImageRequest: Sendable {
    /// The request for the original.
    public var file: FileRequest

    /// The size to render; `nil`: the size of the original.
    public var sizing: ImageSizing?

    /// The effects that are applied afterwards, in order.
    public var processors: [ImageProcessor] = []

    /// Limits, colour, orientation, and the treatment of a file that ends early.
    public var decoder = ImageDecoder()

    /// True to keep an animation moving: the thumbnail of an animated GIF or WebP in a format that holds animations, WebP and GIF, has
    /// all its frames. False for a still of the first frame. Default true; decoded images, and the frame that ``decoder`` names, are stills.
    public var keepsAnimation = true

    /// The files to keep on disk. Default: the original and the image derived from it.
    public var storing = Storing.originalAndProcessed

    /// The files to keep on disk.
    public enum Storing: Sendable, Hashable {
        case originalAndProcessed
        /// Only the original: an image is rendered anew when it is no longer in memory.
        case originalOnly
        /// Only the derived image: the original is removed once that is stored. When it is stale, the original's validator is sent to the
        /// origin, which sends another original only if it has changed.
        case processedOnly
    }

    public init(_ file: FileRequest, _ sizing: ImageSizing? = nil) {
        self.file = file
        self.sizing = sizing
    }

    public init(_ url: String, _ sizing: ImageSizing? = nil) { self.init(FileRequest(url), sizing) }

    public init(_ url: URL, _ sizing: ImageSizing? = nil) { self.init(FileRequest(url), sizing) }
}
