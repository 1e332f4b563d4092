internal import CImageCodec

/// Pixels in rows from the top without padding: red, green, blue and alpha of 8 bits each, with straight (not premultiplied) alpha, in sRGB
/// unless ``profile`` is set. The value is immutable, and shares its memory with its copies.
public struct DecodedImage: Sendable {
    /// The width in pixels, at least 1.
    public let width: Int
    public let height: Int
    /// True if every pixel's alpha is 255.
    public let isOpaque: Bool
    /// The ICC profile of the pixels, if the decoder was configured to keep it; nil: sRGB.
    public var profile: [UInt8]?
    /// The Exif block (from its TIFF header on) with the orientation reset, if the decoder was configured to keep it.
    public var exif: [UInt8]?
    /// The tolerated defect of the file: damaged data in a JPEG, which other software displays too, or with
    /// ``ImageDecoder/allowTruncated`` missing data. Missing rows are transparent (PNG, WebP) or gray (JPEG).
    public var damage: ImageCodecError?

    package let pixels: PixelBuffer

    /// The number of bytes from one row to the next.
    public var bytesPerRow: Int { width * 4 }
    /// The memory of the pixels in bytes: width × height × 4.
    public var cost: Int { width * height * 4 }

    init(width: Int, height: Int, pixels: PixelBuffer, mayHaveAlpha: Bool = true) {
        self.width = width
        self.height = height
        self.pixels = pixels
        isOpaque = !mayHaveAlpha || icodec_is_opaque(pixels.bytes, width * height)
    }

    init(width: Int, height: Int, pixels: PixelBuffer, isOpaque: Bool) {
        self.width = width
        self.height = height
        self.pixels = pixels
        self.isOpaque = isOpaque
    }

    /// Creates an image from pixels written by `fill`, initially 0.
    ///
    /// - Parameters:
    ///   - width: The width in pixels.
    ///   - height: The height in pixels.
    ///   - fill: Receives width × height × 4 bytes.
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

    /// Provides temporary access to the pixels: `cost` bytes.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: pixels.bytes, count: pixels.byteCount))
    }

    /// Red, green, blue and alpha of one pixel, counted from the upper left. The position must be within the image.
    public subscript(x: Int, y: Int) -> SIMD4<UInt8> {
        precondition(x >= 0 && x < width && y >= 0 && y < height, "outside the image")
        let pixel = pixels.bytes + (y * width + x) * 4
        return SIMD4(pixel[0], pixel[1], pixel[2], pixel[3])
    }
}
