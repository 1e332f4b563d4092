internal import CImageCodec

extension ImageEncoder {
    /// Options of an AVIF file: 8 bits, chroma of half the width and height.
    public struct AVIFOptions: Sendable, Hashable {
        /// 0 … 100 on the scale of avifenc. Default 60, which looks like a quality of 80 of JPEG and WebP.
        public var quality = 60
        /// 0 (small) … 10 (fast). Default 8.
        public var speed = 8
        /// The most bytes that the file may have. Its quality is lowered for that as far as needed, to 10 at most; the smallest file then may
        /// still be larger. Default: no limit.
        public var maxBytes: Int?

        public init(quality: Int = 60, speed: Int = 8) {
            self.quality = quality
            self.speed = speed
        }

        /// - Parameter quality: 1 … 100 on the scale of JPEG and WebP: images of an equal one look about the same.
        public init(likeJPEG quality: Int) {
            self.init(quality: quality <= 80 ? quality * 3 / 4 : 60 + (quality - 80) * 2)
        }

        /// The greatest number of pixels of an image. libaom cannot be interrupted; at the default speed, this many pixels take a few
        /// seconds.
        public static let largestArea = 1 << 23

        /// The areas in pixels for which AVIF is worth its time: files are 12 % smaller than WebP from the least one on, 20 % at
        /// 512 × 512, for 2.4 times the CPU time.
        public static let worthwhileAreas = (1 << 16)...largestArea
    }

    /// An encoder for AVIF files.
    ///
    /// - Parameters:
    ///   - quality: 0 … 100 on the scale of avifenc.
    ///   - speed: 0 (small) … 10 (fast).
    public static func avif(quality: Int = 60, speed: Int = 8) -> ImageEncoder {
        ImageEncoder(.avif(AVIFOptions(quality: quality, speed: speed)))
    }
}

extension ImageEncoder.AVIFOptions: FormatEncoding {
    var format: ImageFormat { .avif }

    var recipe: String { "avif,q=\(quality),speed=\(speed)" + (sizeLimit?.recipe ?? "") }

    var sizeLimit: FileSizeLimit? { maxBytes.map { FileSizeLimit(bytes: $0, quality: quality) } }

    func with(quality: Int) -> Self {
        var options = self
        options.quality = quality
        return options
    }

    /// More than was measured with libaom 3.6.0, of noise.
    func memory(pixels: Int, isOpaque: Bool) -> Int { (16 << 20) + pixels * (isOpaque ? 40 : 50) }

    func encode(
        _ image: DecodedImage, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> [UInt8] {
        guard (0...100).contains(quality), (0...10).contains(speed) else {
            throw ImageCodecError(
                .invalidArgument, format: .avif,
                "a quality of \(quality), not 0 ... 100, or a speed of \(speed), not 0 ... 10")
        }
        guard image.width * image.height <= Self.largestArea else {
            throw ImageCodecError(
                .invalidArgument, format: .avif,
                "\(image.width) x \(image.height) pixels, more than \(Self.largestArea)")
        }
        let (profile, exif) = (image.profile ?? [], image.exif ?? [])
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        try profile.withUnsafeBufferPointer { (profile) throws(ImageCodecError) in
            try exif.withUnsafeBufferPointer { (exif) throws(ImageCodecError) in
                var lowered = icodec_avif_options(
                    quality: Int32(quality), speed: Int32(speed), memory: UInt64(clamping: memory),
                    icc: profile.baseAddress, icc_size: profile.count, exif: exif.baseAddress, exif_size: exif.count)
                try budget.measured(.avif) { watch, error in
                    icodec_avif_encode(
                        image.pixels.bytes, UInt32(image.width), UInt32(image.height), image.bytesPerRow,
                        !image.isOpaque, &lowered, &watch, &bytes, &count, &error)
                }
            }
        }
        return ImageEncoder.take(bytes, count)
    }
}
