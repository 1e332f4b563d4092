internal import CImageCodec

/// What one image may cost. Whatever is known from the header is checked before anything is allocated for pixels; an image that
/// exceeds a limit gives the error `limitExceeded`. The limits hold for each image that is made, alone or with others of the same file,
/// and for each step of it (``ImageBudget``).
public struct DecodingLimits: Sendable, Hashable {
    /// Width × height of the stored image, of what it is scaled to on the way, and of the result. Default 100,000,000.
    public var pixels = 100_000_000
    /// Pixels of the longer side. Default 65,535, the most that a JPEG can have.
    public var side = 65_535
    /// Bytes of the file. Default 256 MiB.
    public var bytes = 256 << 20
    /// Bytes of memory at a time for one image: decoder, resizer and the image that is made, then what an effect or the encoder takes
    /// beside it. Default 448 MiB, which holds the pixels of 100 megapixels.
    public var memory = 448 << 20
    /// Bytes of one colour profile or Exif block, inflated. Texts (zTXt, iTXt and the like) are passed over without being
    /// inflated. Default 4 MiB.
    public var ancillary = 4 << 20
    /// Scans of one JPEG. Encoders make about ten. Default 32.
    public var scans = 32
    /// Seconds of CPU time for one image: decoding, resizing, effects and encoding together. Default 10.
    public var seconds = 10.0

    public init() {}

    /// Beyond them numbers overflow.
    private static let largestSide = Int(Int32.max)
    private static let largestArea = 1 << 40

    /// No limits.
    static var unlimited: DecodingLimits {
        var limits = DecodingLimits()
        (limits.pixels, limits.side) = (largestArea, largestSide)
        (limits.bytes, limits.memory, limits.seconds) = (.max, .max, .infinity)
        return limits
    }

    /// What the C target is told.
    func lowered(allowTruncated: Bool, _ watch: icodec_watch) -> icodec_limits {
        icodec_limits(
            pixels: UInt64(clamping: pixels), side: UInt32(clamping: side), memory: UInt64(clamping: memory),
            ancillary: UInt64(clamping: ancillary), scans: UInt32(clamping: scans), seconds: seconds,
            watch: watch, allow_truncated: allowTruncated)
    }

    /// - Throws: `limitExceeded` when the file is larger than allowed.
    func check(_ source: ImageSource, format: ImageFormat) throws(ImageCodecError) {
        guard source.byteCount <= bytes else {
            throw ImageCodecError(
                .limitExceeded, format: format, "a file of \(source.byteCount) bytes, more than \(bytes)")
        }
    }

    /// - Throws: `limitExceeded` when this many bytes at a time are more than allowed.
    func check(memory needed: Int, format: ImageFormat?) throws(ImageCodecError) {
        guard needed <= memory else {
            throw ImageCodecError(
                .limitExceeded, format: format, "it takes \(needed) bytes of memory, more than \(memory)")
        }
    }

    /// - Throws: `limitExceeded` when an image of this size is larger than allowed.
    func check(_ size: ResizePlan.Size, format: ImageFormat?) throws(ImageCodecError) {
        let side = min(side, Self.largestSide)
        guard size.width <= side, size.height <= side, size.width * size.height <= min(pixels, Self.largestArea) else {
            throw ImageCodecError(.limitExceeded, format: format, "a result of \(size.width) x \(size.height) pixels")
        }
    }
}
