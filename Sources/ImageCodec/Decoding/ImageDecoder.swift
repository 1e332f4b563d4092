internal import CImageCodec

/// Turns the bytes of a JPEG, PNG or WebP file into pixels: of the stored size, or straight to a smaller one, which costs a
/// fraction of the time and memory.
///
/// Decoding blocks the thread that asks for it. A decoder is a value; any number of threads may use one at a time.
public struct ImageDecoder: Sendable {
    /// What becomes of an embedded colour profile.
    public enum ColorHandling: Sendable, Hashable {
        /// Pixels are converted to sRGB (unless they are already), by the ICC profile or by PNG's gAMA and cHRM chunks.
        case convertToSRGB
        /// Pixels stay as stored; the ICC profile is handed on in ``DecodedImage/profile``. A CMYK image is converted to RGB
        /// without its profile, which could not describe the result.
        case keepProfile
    }

    public var limits = DecodingLimits()
    /// Whether a file that ends early gives what is there. Default false: an error.
    public var allowTruncated = false
    public var color = ColorHandling.convertToSRGB
    /// Whether the Exif block is handed on in ``DecodedImage/exif``. Default false.
    public var keepsMetadata = false
    /// Whether the image is turned as its Exif orientation says. Default true.
    public var appliesOrientation = true
    /// Whether resizing averages light instead of sRGB values: right for fine patterns and point lights, unlike what other
    /// software does. Default false.
    public var usesLinearLight = false

    public init() {}

    /// Decodes at the stored size.
    public func decode(_ source: ImageSource) throws(ImageCodecError) -> DecodedImage {
        try decode(source, sizing: nil)
    }

    /// Decodes straight to a size.
    public func decode(_ source: ImageSource, to sizing: ImageSizing) throws(ImageCodecError) -> DecodedImage {
        try decode(source, sizing: sizing)
    }

    /// What the header says, without decoding pixels.
    public func info(_ source: ImageSource) throws(ImageCodecError) -> ImageInfo {
        try ImageInfo(source, limits: limits)
    }

    private func decode(_ source: ImageSource, sizing: ImageSizing?) throws(ImageCodecError) -> DecodedImage {
        let format = try source.format()
        try limits.check(source, format: format)
        if format == .webp { return try decodeWebP(source, sizing) }
        return try source.lend { (lent) throws(ImageCodecError) -> DecodedImage in
            format == .png ? try decodePNG(lent, sizing) : try decodeJPEG(lent, sizing)
        }
    }
}
