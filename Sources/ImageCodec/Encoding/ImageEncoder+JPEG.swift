internal import CImageCodec

extension ImageEncoder {
    /// The resolution of the colour channels of a JPEG file. Default ``yes420``.
    public enum ChromaSubsampling: Sendable, Hashable {
        /// Chroma of half the width and height.
        case yes420
        /// Chroma of half the width.
        case yes422
        /// No subsampling: sharp coloured edges, larger files.
        case none444
    }

    /// Options of a JPEG file.
    public struct JPEGOptions: Sendable, Hashable {
        /// 1 … 100 on libjpeg's scale. Default 80.
        public var quality = 80
        /// Default false.
        public var isProgressive = false
        public var subsampling = ChromaSubsampling.yes420
        /// The background of transparent pixels. Default white.
        public var background = ImageSizing.Color.white
        /// The most bytes that the file may have. Its quality is lowered for that as far as needed, to 10 at most; the smallest file then may
        /// still be larger. Default: no limit.
        public var maxBytes: Int?

        public init(quality: Int = 80) { self.quality = quality }

        /// Returns true if the encoder holds all coefficients of an image of this many pixels, for progressive scans or for optimised
        /// Huffman tables. Such tables reduce a file of 120 × 75 pixels by 9 %, one of 520 × 325 by 2.5 %, and more than double the time.
        func holdsCoefficients(_ pixels: Int) -> Bool { isProgressive || pixels <= 1 << 16 }
    }
}

extension ImageEncoder.JPEGOptions: FormatEncoding {
    var format: ImageFormat { .jpeg }

    var recipe: String {
        "jpeg,q=\(quality),\(subsampling)\(isProgressive ? ",progressive" : "")"
            + (background == .white ? "" : ",on=\(background.red).\(background.green).\(background.blue)")
            + (sizeLimit?.recipe ?? "")
    }

    var sizeLimit: FileSizeLimit? { maxBytes.map { FileSizeLimit(bytes: $0, quality: quality) } }

    func with(quality: Int) -> Self {
        var options = self
        options.quality = quality
        return options
    }

    func memory(pixels: Int, isOpaque: Bool) -> Int {
        let flattened = isOpaque ? 0 : pixels * 4
        // Two bytes a coefficient.
        let samples = subsampling == .yes420 ? 3 : subsampling == .yes422 ? 4 : 6
        return flattened + (holdsCoefficients(pixels) ? pixels * samples : 0)
    }

    func encode(
        _ image: DecodedImage, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> [UInt8] {
        try ImageEncoder.encodeJPEG(image, self, budget, memory)
    }
}

extension ImageEncoder {
    fileprivate static func encodeJPEG(
        _ image: DecodedImage, _ options: JPEGOptions, _ budget: ImageBudget, _ memory: Int
    ) throws(ImageCodecError) -> [UInt8] {
        guard (1...100).contains(options.quality) else {
            throw ImageCodecError(.invalidArgument, format: .jpeg, "a quality of \(options.quality), not 1 ... 100")
        }
        guard image.width <= 65500, image.height <= 65500 else {
            throw ImageCodecError(
                .invalidArgument, format: .jpeg, "\(image.width) x \(image.height) pixels, a side may have 65500")
        }
        let opaque = try image.flattened(onto: options.background, within: budget)
        var lowered = icodec_jpeg_options()
        lowered.quality = Int32(options.quality)
        lowered.progressive = options.isProgressive
        lowered.optimized = options.holdsCoefficients(image.width * image.height)
        lowered.memory = UInt64(clamping: memory)
        lowered.gray = try opaque.isGray(within: budget)
        lowered.sampling =
            switch options.subsampling {
            case .yes420: Int32(ICODEC_SAMPLING_420)
            case .yes422: Int32(ICODEC_SAMPLING_422)
            case .none444: Int32(ICODEC_SAMPLING_444)
            }
        // A colour profile is not valid for a grayscale image.
        let profile = image.profile ?? []
        if !profile.isEmpty { lowered.gray = false }
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        try profile.withUnsafeBufferPointer { (profile) throws(ImageCodecError) in
            try (image.exif ?? []).withUnsafeBufferPointer { (exif) throws(ImageCodecError) in
                lowered.icc = profile.baseAddress
                lowered.icc_size = profile.count
                lowered.exif = exif.baseAddress
                lowered.exif_size = exif.count
                try budget.measured(.jpeg) { watch, error in
                    icodec_jpeg_encode(
                        opaque.pixels.bytes, UInt32(image.width), UInt32(image.height), image.bytesPerRow, &lowered,
                        &watch, &bytes, &count, &error)
                }
            }
        }
        return Self.take(bytes, count)
    }
}

extension DecodedImage {
    /// Returns true if red, green and blue are equal in every pixel.
    func isGray(within budget: ImageBudget) throws(ImageCodecError) -> Bool {
        var isGray = true
        try budget.eachPart(width * height) { part in
            isGray = isGray && icodec_is_gray(pixels.bytes + part.lowerBound * 4, part.count)
        }
        return isGray
    }
}
