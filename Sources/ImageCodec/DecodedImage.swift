internal import CImageCodec
internal import Glibc

/// Pixels: red, green, blue and alpha of 8 bits each, straight (not premultiplied) alpha, sRGB unless ``profile`` says otherwise,
/// row by row from the top without padding. A value that shares its memory with its copies and never changes.
public struct DecodedImage: Sendable {
    /// In pixels, at least 1.
    public let width: Int
    public let height: Int
    /// Whether every pixel's alpha is 255.
    public let isOpaque: Bool
    /// The ICC profile that the pixels are to be read by, where it was asked to be kept; nil: sRGB.
    public var profile: [UInt8]?
    /// The Exif block (from its TIFF header on) with the orientation reset, where it was asked to be kept.
    public var exif: [UInt8]?
    /// What was wrong with the file where that could be passed over: damaged data in a JPEG that everybody shows all the same, or
    /// with ``ImageDecoder/allowTruncated`` missing data. Rows that were never reached are transparent (PNG, WebP) or gray (JPEG).
    public var damage: ImageCodecError?

    let pixels: PixelBuffer

    /// Bytes from one row to the next.
    public var bytesPerRow: Int { width * 4 }
    /// Bytes of memory that the pixels take: width × height × 4.
    public var cost: Int { width * height * 4 }

    init(width: Int, height: Int, pixels: PixelBuffer, mayHaveAlpha: Bool = true) {
        self.width = width
        self.height = height
        self.pixels = pixels
        isOpaque = !mayHaveAlpha || icodec_is_opaque(pixels.bytes, width * height)
    }

    /// Makes an image of pixels that `fill` writes, all of them 0 before.
    ///
    /// - Parameters:
    ///   - width: in pixels.
    ///   - height: in pixels.
    ///   - fill: Gets width × height × 4 bytes.
    /// - Throws: `invalidArgument` for a size below 1, `outOfMemory`.
    public init(
        width: Int, height: Int, fill: (UnsafeMutableRawBufferPointer) -> Void
    ) throws(ImageCodecError) {
        guard width > 0, height > 0, width <= Int(Int32.max), height <= Int(Int32.max) else {
            throw ImageCodecError(.invalidArgument, "an image of \(width) x \(height) pixels")
        }
        let pixels = try PixelBuffer(byteCount: width * height * 4)
        fill(UnsafeMutableRawBufferPointer(start: pixels.bytes, count: pixels.byteCount))
        self.init(width: width, height: height, pixels: pixels)
    }

    /// Lends the pixels: `cost` bytes.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: pixels.bytes, count: pixels.byteCount))
    }

    /// Red, green, blue and alpha of one pixel, counted from the upper left. The place must be within the image.
    public subscript(x: Int, y: Int) -> SIMD4<UInt8> {
        precondition(x >= 0 && x < width && y >= 0 && y < height, "outside the image")
        let pixel = pixels.bytes + (y * width + x) * 4
        return SIMD4(pixel[0], pixel[1], pixel[2], pixel[3])
    }
}

/// The memory of an image, allocated once, zero at first, and freed with its last owner.
///
/// Unchecked because of the pointer: the code that allocates a buffer is alone with it until it is wrapped in a
/// ``DecodedImage``, and from then on nobody writes.
final class PixelBuffer: @unchecked Sendable {
    let bytes: UnsafeMutablePointer<UInt8>
    let byteCount: Int

    init(byteCount: Int) throws(ImageCodecError) {
        // calloc gets large blocks from the system already zero, and does not touch them.
        guard let memory = calloc(max(byteCount, 1), 1) else { throw .outOfMemory }
        bytes = memory.assumingMemoryBound(to: UInt8.self)
        self.byteCount = byteCount
    }

    deinit { free(bytes) }
}
