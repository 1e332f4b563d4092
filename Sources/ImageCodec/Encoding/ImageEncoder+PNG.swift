internal import CImageCodec

extension ImageEncoder {
    /// Options of a PNG file.
    public struct PNGOptions: Sendable, Hashable {
        /// zlib's level, 0 … 9. Default 6.
        public var level = 6
        /// True to write an image of at most 256 colours with a palette: smaller, with the same pixels. Default true.
        public var usesPalette = true

        public init(level: Int = 6) { self.level = level }
    }
}

extension ImageEncoder.PNGOptions: FormatEncoding {
    var format: ImageFormat { .png }

    var recipe: String { "png,level=\(level)\(usesPalette ? "" : ",truecolor")" }

    func memory(pixels: Int, isOpaque: Bool) -> Int { usesPalette ? pixels : 0 }

    func encode(
        _ image: DecodedImage, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> [UInt8] {
        try ImageEncoder.encodePNG(image, self, budget, memory)
    }
}

extension ImageEncoder {
    fileprivate static func encodePNG(
        _ image: DecodedImage, _ options: PNGOptions, _ budget: ImageBudget, _ memory: Int
    ) throws(ImageCodecError) -> [UInt8] {
        guard (0...9).contains(options.level) else {
            throw ImageCodecError(.invalidArgument, format: .png, "a level of \(options.level), not 0 ... 9")
        }
        let count = image.width * image.height
        var palette = [UInt8](repeating: 0, count: 1024)
        var indices: [UInt8] = []
        var colors: UInt32 = 0
        if options.usesPalette {
            indices = try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized throws(ImageCodecError) in
                guard let start = buffer.baseAddress else { return }
                try budget.measured(.png) { watch, error in
                    icodec_index_pixels(image.pixels.bytes, count, &palette, start, &colors, &watch, &error)
                }
                initialized = colors > 0 ? count : 0
            }
        }
        var lowered = icodec_png_options()
        lowered.level = Int32(options.level)
        lowered.colors = colors
        lowered.memory = UInt64(clamping: memory)
        lowered.has_alpha = !image.isOpaque
        // A colour profile is not valid for a grayscale image.
        if image.isOpaque, image.profile == nil { lowered.gray = try image.isGray(within: budget) }
        let profile = image.profile ?? []
        let exif = image.exif ?? []
        var bytes: UnsafeMutablePointer<UInt8>?
        var length = 0
        try profile.withUnsafeBufferPointer { (profile) throws(ImageCodecError) in
            try exif.withUnsafeBufferPointer { (exif) throws(ImageCodecError) in
                try palette.withUnsafeBufferPointer { (palette) throws(ImageCodecError) in
                    try indices.withUnsafeBufferPointer { (indices) throws(ImageCodecError) in
                        lowered.icc = profile.baseAddress
                        lowered.icc_size = profile.count
                        lowered.exif = exif.baseAddress
                        lowered.exif_size = exif.count
                        lowered.palette = palette.baseAddress
                        lowered.indices = indices.baseAddress
                        try budget.measured(.png) { watch, error in
                            icodec_png_encode(
                                image.pixels.bytes, UInt32(image.width), UInt32(image.height), image.bytesPerRow,
                                &lowered, &watch, &bytes, &length, &error)
                        }
                    }
                }
            }
        }
        return Self.take(bytes, length)
    }
}
