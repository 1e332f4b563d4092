internal import CImageCodec

/// The properties of an image in its file's header.
public struct ImageInfo: Sendable, Hashable {
    public var format: ImageFormat
    /// The stored width in pixels, before the orientation is applied.
    public var width: Int
    public var height: Int
    public var orientation: ImageOrientation
    /// The number of bits of a stored sample: 8 for most, 1 … 16 for PNG.
    public var bitDepth: Int
    /// The number of samples of a stored pixel: 1 for gray or a palette index, 3 for colour, 4 for CMYK or with alpha.
    public var components: Int
    /// True if the image has an alpha channel, even if it is opaque.
    public var hasAlpha: Bool
    /// True if a JPEG is progressive or a PNG interlaced.
    public var isProgressive: Bool
    /// The name of the embedded ICC profile, "unnamed" if it has no name, or nil if there is no profile.
    public var profile: String?
    /// The number of frames of an animation; 1 for a still image.
    public var frames: Int

    /// Reads the header of a file.
    ///
    /// - Throws: `unsupportedFormat`, `corrupt`, `truncated`, `limitExceeded`, `unreadable`.
    public static func read(
        _ source: ImageSource, limits: DecodingLimits = DecodingLimits()
    ) throws(ImageCodecError) -> ImageInfo {
        try ImageInfo(source, limits: limits)
    }

    init(_ source: ImageSource, limits: DecodingLimits) throws(ImageCodecError) {
        var decoder = ImageDecoder()
        decoder.limits = limits
        self.init(try decoder.header(of: source))
    }

    package init(_ header: ImageHeader) {
        let description = header.description
        format = header.format
        width = header.width
        height = header.height
        orientation = header.orientation
        bitDepth = Int(description.bit_depth)
        components = Int(description.components)
        hasAlpha = description.has_alpha
        isProgressive = description.interlaced
        profile = header.profile.map { ColorProfile($0).name ?? "unnamed" }
        frames = Int(description.frames)
    }
}
