internal import CImageCodec

extension ImageEncoder.WebPOptions: AnimatedFormatEncoding {
    func animation(
        width: Int, height: Int, loops: Int, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> any AnimationEncoding {
        try WebPAnimation(self, width: width, height: height, loops: loops, budget, memory)
    }

    func fileSize(pixels: Int) -> Int { isLossless ? pixels * 5 : pixels * (quality > 90 ? 2 : 1) + 256 }
}

/// A WebP of several frames, by libwebpmux. Only the changes from one frame to the next are written.
private final class WebPAnimation: AnimationEncoding {
    private let budget: ImageBudget
    private let animator: OpaquePointer
    private let (width, height): (Int, Int)

    init(
        _ options: ImageEncoder.WebPOptions, width: Int, height: Int, loops: Int, _ budget: ImageBudget, _ memory: Int
    ) throws(ImageCodecError) {
        guard width * height <= ImageEncoder.WebPOptions.largestAnimatedArea, width <= 16383, height <= 16383 else {
            throw ImageCodecError(
                .invalidArgument, format: .webp,
                "\(width) x \(height) pixels, more than \(ImageEncoder.WebPOptions.largestAnimatedArea) in a frame")
        }
        (self.budget, self.width, self.height) = (budget, width, height)
        var lowered = try options.lowered(width: width, height: height, memory: memory)
        var error = icodec_error()
        guard
            let animator = icodec_webp_animator_create(
                UInt32(width), UInt32(height), &lowered, UInt32(clamping: loops), &error)
        else { throw ImageCodecError(error, format: .webp) }
        self.animator = animator
    }

    deinit { icodec_webp_animator_destroy(animator) }

    func add(_ image: DecodedImage, milliseconds: Int) throws(ImageCodecError) {
        try budget.measured(.webp) { watch, error in
            icodec_webp_animator_add(
                animator, image.pixels.bytes, image.bytesPerRow, UInt32(clamping: milliseconds), &watch, &error)
        }
    }

    func finish(profile: [UInt8]?, exif: [UInt8]?) throws(ImageCodecError) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        try budget.measured(.webp) { watch, error in
            icodec_webp_animator_finish(animator, &watch, &bytes, &count, &error)
        }
        let file = ImageEncoder.take(bytes, count)
        guard profile != nil || exif != nil else { return file }
        return WebPContainer.extended(
            file, width: width, height: height, hasAlpha: false, profile: profile, exif: exif)
    }
}
