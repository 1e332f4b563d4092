internal import CImageCodec

/// Decodes a JPEG, PNG or WebP file: to its stored size, or straight to a smaller one, which costs a fraction of the time and
/// memory.
///
/// Decoding blocks the thread that asks for it. A decoder is a value; any number of threads may use one at a time.
public struct ImageDecoder: Sendable {
    /// The treatment of an embedded colour profile.
    public enum ColorHandling: Sendable, Hashable {
        /// Pixels are converted to sRGB (unless they are already), by the ICC profile or by PNG's gAMA and cHRM chunks.
        case convertToSRGB
        /// Pixels stay as stored; the ICC profile is handed on in ``DecodedImage/profile``. A CMYK image is converted to RGB
        /// without its profile, which could not describe the result.
        case keepProfile
    }

    public var limits = DecodingLimits()
    /// Decodes the part of a file that ends early. Default false: an error.
    public var allowTruncated = false
    public var color = ColorHandling.convertToSRGB
    /// Keeps the Exif block in ``DecodedImage/exif``. Default false.
    public var keepsMetadata = false
    /// Rotates the image by its Exif orientation. Default true.
    public var appliesOrientation = true
    /// Resizes in linear light instead of sRGB values: right for fine patterns and point lights, unlike other software. Default
    /// false.
    public var usesLinearLight = false

    /// The application's decoders (``ImageDecoding``), in the order in which they are asked.
    package var registered: [any ImageDecoding] = []

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
