internal import CImageCodec
internal import Glibc

/// Turns pixels into the bytes of a file. Metadata and colour profile are written when the image carries them: when the decoder
/// was told to keep them.
///
/// Encoding blocks the thread that asks for it. An encoder is a value; any number of threads may use one at a time.
public struct ImageEncoder: Sendable, Hashable {
    public enum ChromaSubsampling: Sendable, Hashable {
        /// Chroma of half the width and height.
        case yes420
        /// Chroma of half the width.
        case yes422
        /// None: sharp coloured edges, larger files.
        case none444
    }

    public struct JPEGOptions: Sendable, Hashable {
        /// 1 … 100 on libjpeg's scale. Default 80.
        public var quality = 80
        /// Default false.
        public var isProgressive = false
        public var subsampling = ChromaSubsampling.yes420
        /// What transparent pixels are put upon. Default white.
        public var background = ImageSizing.Color.white

        public init(quality: Int = 80) { self.quality = quality }
    }

    public struct PNGOptions: Sendable, Hashable {
        /// zlib's level, 0 … 9. Default 6.
        public var level = 6
        /// Whether an image of at most 256 colours is written with a palette: smaller, the same pixels. Default true.
        public var usesPalette = true

        public init(level: Int = 6) { self.level = level }
    }

    public struct WebPOptions: Sendable, Hashable {
        /// 0 … 100 on libwebp's scale; with `isLossless` the effort. Default 80.
        public var quality = 80.0
        public var isLossless = false
        /// 0 (fast) … 6 (small). Default 4.
        public var effort = 4

        public init(quality: Double = 80, isLossless: Bool = false) {
            self.quality = quality
            self.isLossless = isLossless
        }
    }

    public enum Options: Sendable, Hashable {
        case jpeg(JPEGOptions)
        case png(PNGOptions)
        case webp(WebPOptions)
    }

    public var options: Options

    public init(_ options: Options) { self.options = options }

    public static func jpeg(quality: Int = 80) -> ImageEncoder { ImageEncoder(.jpeg(JPEGOptions(quality: quality))) }
    public static func png(level: Int = 6) -> ImageEncoder { ImageEncoder(.png(PNGOptions(level: level))) }
    public static func webp(quality: Double = 80, isLossless: Bool = false) -> ImageEncoder {
        ImageEncoder(.webp(WebPOptions(quality: quality, isLossless: isLossless)))
    }

    /// The format that is written.
    public var format: ImageFormat {
        switch options {
        case .jpeg: .jpeg
        case .png: .png
        case .webp: .webp
        }
    }

    /// Encodes an image.
    ///
    /// - Throws: `invalidArgument` for options out of range and sizes that the format cannot hold (a JPEG at most 65,500, a
    ///   WebP at most 16,383 pixels a side), `outOfMemory`.
    public func encode(_ image: DecodedImage) throws(ImageCodecError) -> [UInt8] {
        switch options {
        case .jpeg(let options): try encodeJPEG(image, options)
        case .png(let options): try encodePNG(image, options)
        case .webp(let options): try encodeWebP(image, options)
        }
    }

    /// Takes what an encoder of the C target made.
    static func take(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int) -> [UInt8] {
        defer { free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}
