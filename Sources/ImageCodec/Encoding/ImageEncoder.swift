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

        /// Whether the encoder holds all coefficients of an image of so many pixels: to write it in scans, or with Huffman tables of
        /// its own, which are worth a few per cent, and no hundreds of megabytes.
        func holdsCoefficients(_ pixels: Int) -> Bool { isProgressive || pixels <= 1 << 25 }
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

        /// Whether an image of so many pixels is encoded with less memory and more time.
        func savesMemory(_ pixels: Int) -> Bool { pixels > 1 << 22 }
    }

    public enum Options: Sendable, Hashable {
        case jpeg(JPEGOptions)
        case png(PNGOptions)
        case webp(WebPOptions)
        /// An application's own encoder (``ImageEncoding``).
        case custom(CustomEncoding)
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
        case .custom(let custom): custom.encoding.format
        }
    }

    /// Encodes an image.
    ///
    /// - Parameters:
    ///   - image: what to encode.
    ///   - budget: What it may cost. Default: anything.
    /// - Throws: `invalidArgument` for options out of range and sizes that the format cannot hold (a JPEG at most 65,500, a
    ///   WebP at most 16,383 pixels a side), `outOfMemory`, and what `budget` forbids.
    public func encode(
        _ image: DecodedImage, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> [UInt8] {
        let needed = image.cost + memory(width: image.width, height: image.height, isOpaque: image.isOpaque)
        try budget.check(memory: needed, format: format)
        // The file grows by doubling, and is copied at last.
        let left = (budget.limits.memory - needed) / 3
        return switch options {
        case .jpeg(let options): try encodeJPEG(image, options, budget, left)
        case .png(let options): try encodePNG(image, options, budget, left)
        case .webp(let options): try encodeWebP(image, options, budget, left)
        case .custom(let custom): try encode(image, by: custom.encoding, budget)
        }
    }

    private func encode(
        _ image: DecodedImage, by encoding: any ImageEncoding, _ budget: ImageBudget
    ) throws(ImageCodecError) -> [UInt8] {
        try budget.accounting { () throws(ImageCodecError) in try encoding.encode(image, within: budget) }
    }

    /// Bytes that encoding an image of a size takes beside its pixels and the file.
    package func memory(width: Int, height: Int, isOpaque: Bool) -> Int {
        let (pixels, lines) = (width * height, width * 256 + (1 << 19))
        switch options {
        case .jpeg(let options):
            let flattened = isOpaque ? 0 : pixels * 4
            // Two bytes a coefficient.
            let samples = options.subsampling == .yes420 ? 3 : options.subsampling == .yes422 ? 4 : 6
            return lines + flattened + (options.holdsCoefficients(pixels) ? pixels * samples : 0)
        case .png(let options): return lines + (options.usesPalette ? pixels : 0)
        case .webp(let options):
            // The most that was measured with libwebp 1.2.4, of noise. Without loss, as which alpha is always written, it keeps several
            // tables.
            if options.isLossless { return lines + pixels * 72 }
            return lines + pixels * (isOpaque ? options.savesMemory(pixels) ? 6 : 28 : 44)
        case .custom(let custom): return custom.encoding.memory(width: width, height: height)
        }
    }

    /// Takes what an encoder of the C target made.
    static func take(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int) -> [UInt8] {
        defer { free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}
