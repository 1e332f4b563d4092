internal import CImageCodec
internal import Glibc

/// Encodes pixels into the bytes of a file. Metadata and colour profile are written if the image contains them, that
/// is, if the decoder was configured to keep them.
///
/// Encoding blocks the calling thread. An encoder is a value and safe for concurrent use.
public struct ImageEncoder: Sendable, Hashable {
    /// The format of the file, with its options.
    public enum Options: Sendable, Hashable {
        case jpeg(JPEGOptions)
        case png(PNGOptions)
        case webp(WebPOptions)
        case avif(AVIFOptions)
        case gif(GIFOptions)
        /// An application's own encoder (``ImageEncoding``).
        case custom(CustomEncoding)

        /// The encoder of the format.
        var encoding: any FormatEncoding {
            switch self {
            case .jpeg(let options): options
            case .png(let options): options
            case .webp(let options): options
            case .avif(let options): options
            case .gif(let options): options
            case .custom(let encoding): encoding
            }
        }
    }

    public var options: Options

    public init(_ options: Options) { self.options = options }

    public static func jpeg(quality: Int = 80) -> ImageEncoder { ImageEncoder(.jpeg(JPEGOptions(quality: quality))) }
    public static func png(level: Int = 6) -> ImageEncoder { ImageEncoder(.png(PNGOptions(level: level))) }
    public static func webp(quality: Double = 80, isLossless: Bool = false) -> ImageEncoder {
        ImageEncoder(.webp(WebPOptions(quality: quality, isLossless: isLossless)))
    }

    /// The formats of the package's own encoders.
    package static let ownFormats: Set<ImageFormat> = [.jpeg, .png, .webp, .avif, .gif]

    /// The format of the file.
    public var format: ImageFormat { options.encoding.format }

    /// A text for these options, under which the images encoded with them are stored.
    package var recipe: String { options.encoding.recipe }

    /// Encodes an image.
    ///
    /// - Parameters:
    ///   - image: The image.
    ///   - budget: The image's budget. Default: unlimited.
    /// - Throws: `invalidArgument` for options out of range and sizes that the format cannot hold (a JPEG at most
    ///   65,500, a WebP 16,383, a GIF 65,535 pixels a side), `outOfMemory`, and the errors of `budget`.
    public func encode(
        _ image: DecodedImage, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> [UInt8] {
        let encoding = options.encoding
        let needed = image.cost + memory(width: image.width, height: image.height, isOpaque: image.isOpaque)
        try budget.check(memory: needed, format: format)
        // The output grows by doubling, and is copied at the end. With a limit of the size, the best one before is kept meanwhile.
        let left = (budget.limits.memory - needed) / (encoding.sizeLimit == nil ? 3 : 4)
        return try encoding.encodeWithinLimit(image, within: budget, memory: left)
    }

    /// The memory in bytes that encoding an image of a size needs in addition to its pixels and the file.
    package func memory(width: Int, height: Int, isOpaque: Bool) -> Int {
        if case .custom(let custom) = options {
            return DecodingLimits.bounded(memory: custom.encoding.memory(width: width, height: height))
        }
        return width * 256 + (1 << 19) + options.encoding.memory(pixels: width * height, isOpaque: isOpaque)
    }

    /// Takes ownership of the output of an encoder of the C target.
    static func take(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int) -> [UInt8] {
        defer { free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}
