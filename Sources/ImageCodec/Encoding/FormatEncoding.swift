/// The encoder of one image format, with its options. A new format is a type of this protocol, and its case in
/// ``ImageEncoder/Options``.
protocol FormatEncoding {
    var format: ImageFormat { get }

    /// A text that is the same for equal options and for no others: thumbnails are stored under it, so it never changes.
    var recipe: String { get }

    /// The memory in bytes that encoding needs in addition to the image's pixels, 512 KiB for streams, and 256 bytes for each column.
    func memory(pixels: Int, isOpaque: Bool) -> Int

    /// Encodes an image.
    ///
    /// - Parameter memory: The most bytes that the file may have.
    func encode(
        _ image: DecodedImage, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> [UInt8]
}
