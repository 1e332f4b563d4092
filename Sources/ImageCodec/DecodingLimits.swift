internal import CImageCodec

/// The resource limits for one image. Sizes in the header are checked before memory is allocated for pixels; an image
/// that exceeds a limit fails with `limitExceeded`. The limits apply to each image made from a file, alone or with
/// others, and to each step of it (``ImageBudget``).
///
/// The parts of a header (chunks, segments, boxes, items, frames) have fixed limits of tens of thousands. Exceeding them also fails with
/// `limitExceeded`.
public struct DecodingLimits: Sendable, Hashable {
    /// Width × height of the stored image, of intermediate images, and of the result. Default 100,000,000.
    public var pixels = 100_000_000
    /// The length of the longer side in pixels. Default 65,535, the maximum of JPEG.
    public var side = 65_535
    /// The size of the file in bytes. Default 256 MiB.
    public var bytes = 256 << 20
    /// The memory for one image at a time in bytes: decoder, resizer and result, then effects or the encoder. Default
    /// 448 MiB, sufficient for the pixels of 100 megapixels.
    public var memory = 448 << 20
    /// The inflated size of one colour profile or Exif block in bytes. Texts (zTXt, iTXt and the like) are skipped
    /// without being inflated. Default 4 MiB.
    public var ancillary = 4 << 20
    /// The number of scans in one JPEG. Encoders write about ten. Default 32.
    public var scans = 32
    /// The number of frames of an animation that is read, and of those that are composed for one of them. Default 1,000.
    public var frames = 1_000
    /// Width × height of all frames of an animation together. Default 250,000,000.
    public var animationPixels = 250_000_000
    /// The time for which an animation is shown once, in seconds. Default 600.
    public var animationSeconds = 600.0
    /// The CPU time for one image in seconds: its header, decoding, resizing, effects and encoding together. Default 10.
    public var seconds = 10.0

    public init() {}

    /// Larger numbers overflow.
    private static let largestSide = Int(Int32.max)
    private static let largestArea = 1 << 40

    /// No limits.
    static var unlimited: DecodingLimits {
        var limits = DecodingLimits()
        (limits.pixels, limits.side) = (largestArea, largestSide)
        (limits.bytes, limits.memory, limits.seconds) = (.max, .max, .infinity)
        return limits
    }

    /// The limits in the form of the C target.
    func lowered(allowTruncated: Bool, _ watch: icodec_watch) -> icodec_limits {
        icodec_limits(
            pixels: UInt64(clamping: min(pixels, Self.largestArea)),
            side: UInt32(clamping: min(side, Self.largestSide)), memory: UInt64(clamping: memory),
            ancillary: UInt64(clamping: ancillary), scans: UInt32(clamping: scans),
            frames: UInt32(clamping: frames), seconds: seconds, watch: watch, allow_truncated: allowTruncated)
    }

    /// A number of bytes that a file's header or an application's code states, bounded so that sums with it do not overflow.
    package static func bounded(memory: Int) -> Int { min(max(0, memory), 1 << 58) }

    /// - Throws: `limitExceeded` if the file is too large.
    func check(_ source: ImageSource, format: ImageFormat) throws(ImageCodecError) {
        guard source.byteCount <= bytes else {
            throw ImageCodecError(
                .limitExceeded, format: format, "a file of \(source.byteCount) bytes, more than \(bytes)")
        }
    }

    /// - Throws: `limitExceeded` if this many bytes at a time exceed the limit.
    func check(memory needed: Int, format: ImageFormat?) throws(ImageCodecError) {
        guard needed <= memory else {
            throw ImageCodecError(
                .limitExceeded, format: format, "it takes \(needed) bytes of memory, more than \(memory)")
        }
    }

    /// - Throws: `limitExceeded` if an image of this size exceeds the limit.
    func check(_ size: ResizePlan.Size, format: ImageFormat?) throws(ImageCodecError) {
        let side = min(side, Self.largestSide)
        guard size.width <= side, size.height <= side, size.width * size.height <= min(pixels, Self.largestArea) else {
            throw ImageCodecError(.limitExceeded, format: format, "a result of \(size.width) x \(size.height) pixels")
        }
    }
}
