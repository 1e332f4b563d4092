internal import CImageCodec

extension ImageEncoder {
    /// Options of a WebP file.
    public struct WebPOptions: Sendable, Hashable {
        /// 0 … 100 on libwebp's scale; with `isLossless` the effort. Default 80.
        public var quality = 80.0
        public var isLossless = false
        /// 0 (fast) … 6 (small). Default 4.
        public var effort = 4
        /// The size limit of the file in bytes, unless `isLossless`. The quality is lowered as far as needed, but not below 10; the smallest
        /// file may still be larger. Default: no limit.
        public var maxBytes: Int?

        public init(quality: Double = 80, isLossless: Bool = false) {
            self.quality = quality
            self.isLossless = isLossless
        }

        /// The most pixels of a frame of an animation. An encode cannot be interrupted but between frames.
        public static let largestAnimatedArea = 1 << 23

        /// Returns true if an image of this many pixels is encoded with less memory and more time.
        func savesMemory(_ pixels: Int) -> Bool { pixels > 1 << 22 }
    }
}

extension ImageEncoder.WebPOptions: FormatEncoding {
    var format: ImageFormat { .webp }

    var recipe: String {
        "webp,q=\(quality),effort=\(effort)\(isLossless ? ",lossless" : "")" + (sizeLimit?.recipe ?? "")
    }

    var sizeLimit: FileSizeLimit? {
        isLossless ? nil : maxBytes.map { FileSizeLimit(bytes: $0, quality: Int(quality.rounded(.up))) }
    }

    func with(quality: Int) -> Self {
        var options = self
        options.quality = Double(quality)
        return options
    }

    /// The most that was measured with libwebp 1.2.4, of noise. Without loss, as which alpha is always written, it keeps several
    /// tables.
    func memory(pixels: Int, isOpaque: Bool) -> Int {
        if isLossless { return pixels * 72 }
        return pixels * (isOpaque ? savesMemory(pixels) ? 6 : 28 : 44)
    }

    func encode(
        _ image: DecodedImage, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> [UInt8] {
        try ImageEncoder.encodeWebP(image, self, budget, memory)
    }
}

extension ImageEncoder.WebPOptions {
    /// The options in the form of the C target.
    ///
    /// - Parameter memory: The most bytes that the file may have.
    func lowered(width: Int, height: Int, memory: Int) throws(ImageCodecError) -> icodec_webp_options {
        guard quality >= 0, quality <= 100, (0...6).contains(effort) else {
            throw ImageCodecError(
                .invalidArgument, format: .webp,
                "a quality of \(quality), not 0 ... 100, or an effort of \(effort), not 0 ... 6")
        }
        return icodec_webp_options(
            quality: Float(quality), lossless: isLossless, method: Int32(effort),
            saves_memory: savesMemory(width * height), memory: UInt64(clamping: memory))
    }
}

extension ImageEncoder {
    fileprivate static func encodeWebP(
        _ image: DecodedImage, _ options: WebPOptions, _ budget: ImageBudget, _ memory: Int
    ) throws(ImageCodecError) -> [UInt8] {
        guard image.width <= 16383, image.height <= 16383 else {
            throw ImageCodecError(
                .invalidArgument, format: .webp, "\(image.width) x \(image.height) pixels, a side may have 16383")
        }
        var lowered = try options.lowered(width: image.width, height: image.height, memory: memory)
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        try budget.measured(.webp) { watch, error in
            icodec_webp_encode(
                image.pixels.bytes, UInt32(image.width), UInt32(image.height), image.bytesPerRow, !image.isOpaque,
                &lowered, &watch, &bytes, &count, &error)
        }
        let file = Self.take(bytes, count)
        guard image.profile != nil || image.exif != nil else { return file }
        return WebPContainer.extended(
            file, width: image.width, height: image.height, hasAlpha: !image.isOpaque, profile: image.profile,
            exif: image.exif)
    }
}

/// The RIFF container of a WebP file (RFC 9649, section 2).
enum WebPContainer {
    /// The file with a VP8X header, a profile and an Exif block.
    ///
    /// - Parameter file: The file from libwebp. It has a VP8X header only if it has alpha or several frames.
    static func extended(
        _ file: [UInt8], width: Int, height: Int, hasAlpha: Bool, profile: [UInt8]?, exif: [UInt8]?
    ) -> [UInt8] {
        let hasHeader = file.dropFirst(12).starts(with: "VP8X".utf8)
        let flags: UInt8 =
            (profile == nil ? 0 : 0x20) | (hasAlpha ? 0x10 : 0) | (exif == nil ? 0 : 0x08) | (hasHeader ? file[20] : 0)
        func three(_ value: Int) -> [UInt8] { (0..<3).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        var body = Array("WEBP".utf8)
        body += chunk("VP8X", [flags, 0, 0, 0] + three(width - 1) + three(height - 1))
        if let profile { body += chunk("ICCP", profile) }
        body += file.dropFirst(hasHeader ? 30 : 12)
        if let exif { body += chunk("EXIF", exif) }
        return chunk("RIFF", body)
    }

    private static func chunk(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
        let length = (0..<4).map { UInt8(truncatingIfNeeded: bytes.count >> ($0 * 8)) }
        return Array(name.utf8) + length + bytes + (bytes.count % 2 == 0 ? [] : [0])
    }
}
