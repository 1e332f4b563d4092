internal import CImageCodec

/// Decodes the bytes of a JPEG, PNG, WebP, GIF, AVIF, BMP or ICO file into pixels: at the stored size, or directly at a smaller one, which
/// costs a fraction of the time and memory. HEIF, JPEG XL and TIFF are `unsupportedFormat` outside of worker processes.
///
/// Decoding blocks the calling thread. A decoder is a value and safe for concurrent use.
public struct ImageDecoder: Sendable {
    /// The handling of an embedded colour profile.
    public enum ColorHandling: Sendable, Hashable {
        /// Pixels are converted to sRGB if necessary, by the ICC profile or by PNG's gAMA and cHRM chunks.
        case convertToSRGB
        /// Pixels stay as stored; the ICC profile is preserved in ``DecodedImage/profile``. A CMYK image is converted
        /// to RGB without its profile, which could not describe the result. So is an image with a gray profile.
        case keepProfile
    }

    /// The limits of one image: pixels, bytes and seconds. Default: as in ``DecodingLimits``.
    public var limits = DecodingLimits()
    /// True to return the available part of a truncated file. Default false: an error.
    public var allowTruncated = false
    /// Default ``ColorHandling/convertToSRGB``.
    public var color = ColorHandling.convertToSRGB
    /// True to preserve the Exif block in ``DecodedImage/exif``. Default false.
    public var keepsMetadata = false
    /// True to rotate the image by its Exif orientation. Default true.
    public var appliesOrientation = true
    /// True to average light instead of sRGB values when resizing: correct for fine patterns and point lights, but
    /// unlike other software. Default false.
    public var usesLinearLight = false

    /// The frame of an animated GIF, WebP or AVIF that is decoded, counted from 0 and composed with those before it. Default 0. A frame that the
    /// file does not have is an `invalidArgument`.
    public var frame = 0

    /// The application's decoders (``ImageDecoding``), in order of preference.
    package var registered: [any ImageDecoding] = []

    public init() {}

    /// Decodes a file, at the stored size or directly at another.
    ///
    /// - Parameters:
    ///   - sizing: The target size; nil: the stored one.
    ///   - budget: The image's budget, which may be shared with later operations. Default: a new one with ``limits``.
    public func decode(
        _ source: ImageSource, to sizing: ImageSizing? = nil, within budget: ImageBudget? = nil
    ) throws(ImageCodecError) -> DecodedImage {
        let budget = budget ?? ImageBudget(limits: limits)
        let output = DecodingOutput(sizing, budget)
        decode(source, [output], cancellation: budget.cancellation)
        return try output.take()
    }

    /// Reads the header, without decoding pixels.
    public func info(_ source: ImageSource) throws(ImageCodecError) -> ImageInfo {
        try ImageInfo(source, limits: limits)
    }
}
