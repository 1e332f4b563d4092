public import ImageCodec

/// Which image to get, and in which size and shape.
///
///     var request = ImageRequest("https://example.com/picture.jpg", .cover(256, 256))
///     request.processors = [.roundedCorners(radius: 12)]
public struct ImageRequest: Sendable {
    /// Where the original comes from, and under which rules.
    public var file: FileRequest

    /// The size to bring it to; `nil`: as it is stored.
    public var sizing: ImageSizing?

    /// What is done to the pixels afterwards, in order.
    public var processors: [ImageProcessor] = []

    /// Limits, colour, orientation, and what becomes of a file that ends early.
    public var decoder = ImageDecoder()

    /// What is kept on disk. Default: the original and what was made of it.
    public var storing = Storing.originalAndProcessed

    /// What is kept on disk.
    public enum Storing: Sendable, Hashable {
        case originalAndProcessed
        /// Only the file as the origin sent it: every size is made anew when it is no longer in memory.
        case originalOnly
        /// Only what was made of it: the original goes once that is stored. When it is stale, the origin is asked whether the
        /// original still holds, by its validator, and sends another one only if not.
        case processedOnly
    }

    public init(_ file: FileRequest, _ sizing: ImageSizing? = nil) {
        self.file = file
        self.sizing = sizing
    }

    public init(_ url: String, _ sizing: ImageSizing? = nil) { self.init(FileRequest(url), sizing) }
}
