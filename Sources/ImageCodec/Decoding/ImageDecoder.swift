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

    /// The pixels, bytes and seconds that one image may cost. Default: those of ``DecodingLimits``.
    public var limits = DecodingLimits()
    /// Whether a file that ends early gives what is there. Default false: an error.
    public var allowTruncated = false
    /// Default ``ColorHandling/convertToSRGB``.
    public var color = ColorHandling.convertToSRGB
    /// Whether the Exif block is handed on in ``DecodedImage/exif``. Default false.
    public var keepsMetadata = false
    /// Whether the image is turned as its Exif orientation says. Default true.
    public var appliesOrientation = true
    /// Whether resizing averages light instead of sRGB values: right for fine patterns and point lights, unlike what other
    /// software does. Default false.
    public var usesLinearLight = false

    /// A decoder with the defaults of all properties.
    public init() {}

    /// Decodes a file, at the stored size or straight to another.
    ///
    /// - Parameters:
    ///   - sizing: The size to bring it to; nil: as it is stored.
    ///   - budget: What the image may cost, from here to whatever else is given the same budget. Default: a new one with ``limits``.
    public func decode(
        _ source: ImageSource, to sizing: ImageSizing? = nil, within budget: ImageBudget? = nil
    ) throws(ImageCodecError) -> DecodedImage {
        let budget = budget ?? ImageBudget(limits: limits)
        let output = DecodingOutput(sizing, budget)
        decode(source, [output], cancellation: budget.cancellation)
        return try output.take()
    }

    /// What the header says, without decoding pixels.
    public func info(_ source: ImageSource) throws(ImageCodecError) -> ImageInfo {
        try ImageInfo(source, limits: limits)
    }
}
