extension ImageEncoder {
    /// Options of a GIF file. A GIF has at most 256 colours a frame, pixels that are opaque or transparent (below an alpha of 128), and neither
    /// colour profile nor Exif block.
    public struct GIFOptions: Sendable, Hashable {
        /// The most colours of a frame, 2 … 256; transparency counts as one. Images that have no more keep theirs. Default 256.
        public var colors = 256
        /// True to mix two colours in a fixed pattern where a pixel's own is missing. Files without are smaller, with steps in gradients.
        /// Default true.
        public var isDithered = true

        public init(colors: Int = 256, isDithered: Bool = true) {
            self.colors = colors
            self.isDithered = isDithered
        }
    }

    /// An encoder for GIF files.
    ///
    /// - Parameters:
    ///   - colors: The most colours of a frame, 2 … 256.
    ///   - isDithered: True to mix two colours where a pixel's own is missing.
    public static func gif(colors: Int = 256, isDithered: Bool = true) -> ImageEncoder {
        ImageEncoder(.gif(GIFOptions(colors: colors, isDithered: isDithered)))
    }
}

extension ImageEncoder.GIFOptions: FormatEncoding {
    var format: ImageFormat { .gif }

    var recipe: String { "gif,colors=\(colors)\(isDithered ? "" : ",plain")" }

    /// A copy of the pixels, their indices, two palettes and a histogram.
    func memory(pixels: Int, isOpaque: Bool) -> Int { (4 << 20) + pixels * 5 }

    func encode(
        _ image: DecodedImage, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> [UInt8] {
        let file = try animation(width: image.width, height: image.height, loops: 1, within: budget, memory: memory)
        try file.add(image, milliseconds: 0)
        return try file.finish(profile: nil, exif: nil)
    }
}
