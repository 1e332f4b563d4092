internal import CImageCodec

/// What a file's header says of the image.
public struct ImageInfo: Sendable, Hashable {
    public var format: ImageFormat
    /// In pixels, as stored: before the orientation is applied.
    public var width: Int
    public var height: Int
    public var orientation: ImageOrientation
    /// Bits of a sample as stored: 8 for most, 1 … 16 for PNG.
    public var bitDepth: Int
    /// Samples of a pixel as stored: 1 gray or palette index, 3 colour, 4 CMYK or with alpha.
    public var components: Int
    /// Whether the format carries alpha for this image, be it opaque or not.
    public var hasAlpha: Bool
    /// Whether a JPEG is progressive or a PNG interlaced.
    public var isProgressive: Bool
    /// The name of the embedded ICC profile, "unnamed" where it has none; nil: no profile.
    public var profile: String?
    /// Frames of an animation; 1 for a still image. The first is what is decoded.
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
        let header = try decoder.header(of: source)
        let description = header.description
        format = header.format
        width = header.width
        height = header.height
        orientation = header.exif?.orientation ?? .up
        bitDepth = Int(description.bit_depth)
        components = Int(description.components)
        hasAlpha = description.has_alpha
        isProgressive = description.interlaced
        profile = header.profile.map { ColorProfile($0).name ?? "unnamed" }
        frames = Int(description.frames)
    }
}
