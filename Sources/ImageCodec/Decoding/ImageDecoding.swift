/// A decoder of a format that the package does not decode itself.
///
/// Registered in the configuration of a cache, it decodes the files whose first bytes it recognises. The package always decodes JPEG, PNG,
/// WebP, GIF and AVIF itself, but HEIF, JPEG XL, TIFF, BMP and ICO only if no registered decoder does. Images of a registered decoder are
/// resized, processed, kept in memory and stored like all others, within the same limits:
///
/// * The size in the header is checked against ``DecodingLimits/pixels`` and ``DecodingLimits/side``, and the memory against
///   ``DecodingLimits/memory``, before ``decode(_:within:)`` is called.
/// * CPU time is charged to the image's budget. A decoder that calls ``ImageBudget/check()`` every few milliseconds is stopped when the
///   time limit is reached, or when no request waits for the image any more.
/// * The ``identity`` is part of the key under which derived images are stored.
///
/// Several threads may call it concurrently.
public protocol ImageDecoding: Sendable {
    /// The format that is decoded.
    var format: ImageFormat { get }

    /// The name and version of the decoder. Change it when the decoder's pixels change: images that were derived with another identity are
    /// rendered again.
    var identity: String { get }

    /// Recognizes a file of the format.
    ///
    /// - Parameter start: The first ``ImageFormat/signatureLength`` bytes of the file, or all of a shorter one.
    func canDecode(_ start: [UInt8]) -> Bool

    /// Reads the header of a file.
    ///
    /// - Throws: `corrupt`, `truncated`, or another code for a file that cannot be decoded.
    func header(of source: ImageSource) throws(ImageCodecError) -> DecodingHeader

    /// Decodes the pixels of a file, in the size of its header.
    ///
    /// A decoder that can show a part of a cut file returns the image with ``DecodedImage/damage``; it is used with
    /// ``ImageDecoder/allowTruncated``, and else the damage is the error.
    ///
    /// - Parameter budget: The limits and the remaining time.
    func decode(_ source: ImageSource, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage
}

/// The header of a file, as an ``ImageDecoding`` reads it.
public struct DecodingHeader: Sendable {
    /// The width of the image in pixels.
    public var width: Int
    /// The height of the image in pixels.
    public var height: Int
    /// False if every pixel is opaque. Default true.
    public var mayHaveAlpha = true
    /// The memory in bytes that decoding needs in addition to the pixels. Default: the size of the file.
    public var memory: Int?

    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}
