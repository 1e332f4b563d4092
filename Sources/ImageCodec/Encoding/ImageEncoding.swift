/// An encoder of a format that the package does not encode itself.
///
///     let thumbnail = try await cache.thumbnail(for: request, as: ImageEncoder(QOIEncoder()))
///
/// Its files are kept in memory and stored like files of the package's encoders, within the same limits. Several threads may call it
/// concurrently.
public protocol ImageEncoding: Sendable {
    /// The format that is written.
    var format: ImageFormat { get }

    /// The name and version of the encoder, with its options: part of the key under which its files are kept.
    var identity: String { get }

    /// Encodes an image.
    ///
    /// - Parameter budget: The limits and the remaining time; ``ImageBudget/check()`` stops long work.
    func encode(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> [UInt8]

    /// The memory in bytes that encoding an image of a size needs in addition to its pixels and the file. Default: 4 for each pixel.
    func memory(width: Int, height: Int) -> Int
}

extension ImageEncoding {
    public func memory(width: Int, height: Int) -> Int { width * height * 4 }
}

/// An encoder of the package, whose identity determines its format.
package protocol OwnImageEncoding: ImageEncoding {}

extension ImageEncoder {
    /// An application's own encoder. Two are equal, and share cached files, when their formats and identities are equal.
    public init(_ encoding: some ImageEncoding) { self.init(.custom(CustomEncoding(encoding))) }

    /// An application's own encoder, compared by its identity.
    public struct CustomEncoding: Sendable, Hashable {
        package let encoding: any ImageEncoding

        init(_ encoding: any ImageEncoding) { self.encoding = encoding }

        public var identity: String { encoding.identity }

        public static func == (left: Self, right: Self) -> Bool {
            left.encoding.format == right.encoding.format && left.identity == right.identity
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(encoding.format)
            hasher.combine(identity)
        }
    }
}

extension ImageEncoder.CustomEncoding: FormatEncoding {
    var format: ImageFormat { encoding.format }

    /// The format's name has its length, because it may be any text, like the identity.
    var recipe: String {
        if encoding is any OwnImageEncoding { return "encoder=\(identity)" }
        return "encoder=\(format.name.utf8.count):\(format.name),\(identity)"
    }

    func memory(pixels: Int, isOpaque: Bool) -> Int { pixels * 4 }

    func encode(
        _ image: DecodedImage, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> [UInt8] {
        try budget.accounting { () throws(ImageCodecError) in try encoding.encode(image, within: budget) }
    }
}
