public import ImageCodec

/// The properties of an image file, and placeholders to show until it is loaded.
public struct ImageDescription: Sendable, Hashable {
    /// The name of the format, such as `JPEG`.
    public var format: String
    public var mediaType: String
    /// The width in pixels, as displayed: after rotation by the image's orientation.
    public var width: Int
    public var height: Int
    /// The size of the file in bytes.
    public var fileSize: Int
    /// The orientation in the file, 1 to 8 (Exif); 1: upright.
    public var orientation: Int
    /// The number of frames; 1 for a still image.
    public var frames: Int
    /// The number of bits of a stored sample.
    public var bitDepth: Int
    /// The name of the embedded profile; without one `gray`, `CMYK` or `sRGB`.
    public var colorSpace: String
    /// True if the image has an alpha channel, even if it is opaque.
    public var hasAlpha: Bool
    public var isProgressive: Bool
    /// The text of the BlurHash.
    public var blurHash: String
    /// The bytes of the ThumbHash.
    public var thumbHash: [UInt8]
    /// The colour around which most pixels lie; nil: no pixel is visible.
    public var dominantColor: ImageSizing.Color?

    /// Reads and decodes a file.
    ///
    /// - Throws: The errors of ``ImageDecoder/decode(_:to:within:)``.
    public init(_ source: ImageSource, by decoder: ImageDecoder = ImageDecoder()) throws(ImageCodecError) {
        let budget = ImageBudget(limits: decoder.limits)
        let header = try decoder.header(of: source, within: budget)
        let image = try decoder.decode(source, to: .placeholder, within: budget)
        try self.init(header, image, within: budget)
    }

    package init(
        format: String, mediaType: String, width: Int, height: Int, fileSize: Int, orientation: Int, frames: Int,
        bitDepth: Int, colorSpace: String, hasAlpha: Bool, isProgressive: Bool, blurHash: String, thumbHash: [UInt8],
        dominantColor: ImageSizing.Color?
    ) {
        self.format = format
        self.mediaType = mediaType
        self.width = width
        self.height = height
        self.fileSize = fileSize
        self.orientation = orientation
        self.frames = frames
        self.bitDepth = bitDepth
        self.colorSpace = colorSpace
        self.hasAlpha = hasAlpha
        self.isProgressive = isProgressive
        self.blurHash = blurHash
        self.thumbHash = thumbHash
        self.dominantColor = dominantColor
    }

    /// - Parameter image: The image in any size.
    package init(_ header: ImageHeader, _ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) {
        format = header.format.name
        mediaType = header.format.mediaType
        (width, height) = header.displayedSize
        fileSize = header.fileSize
        orientation = header.orientation.rawValue
        frames = header.frameCount
        bitDepth = header.bitDepth
        hasAlpha = header.hasAlpha
        isProgressive = header.isProgressive
        colorSpace = header.colorSpace
        let sample = try image.placeholderSample(within: budget)
        blurHash = try sample.blurHash(within: budget)
        thumbHash = try sample.thumbHash(within: budget)
        dominantColor = try sample.dominantColor(within: budget)
    }
}
