internal import CImageCodec

extension ImageEncoder.GIFOptions: AnimatedFormatEncoding {
    func animation(
        width: Int, height: Int, loops: Int, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> any AnimationEncoding {
        try GIFAnimation(self, width: width, height: height, loops: loops, budget, memory)
    }

    /// A code of at most 12 bits for each pixel, and a palette.
    func fileSize(pixels: Int) -> Int { pixels * 8 / 5 + 1024 }
}

/// A GIF of one or more frames. Only the changes from one frame to the next are written.
private final class GIFAnimation: AnimationEncoding {
    private let budget: ImageBudget
    private let animator: OpaquePointer

    init(
        _ options: ImageEncoder.GIFOptions, width: Int, height: Int, loops: Int, _ budget: ImageBudget, _ memory: Int
    ) throws(ImageCodecError) {
        guard (2...256).contains(options.colors) else {
            throw ImageCodecError(.invalidArgument, format: .gif, "\(options.colors) colours, not 2 ... 256")
        }
        guard width <= UInt16.max, height <= UInt16.max else {
            throw ImageCodecError(
                .invalidArgument, format: .gif, "\(width) x \(height) pixels, a side may have \(UInt16.max)")
        }
        self.budget = budget
        var lowered = icodec_gif_options(
            colors: UInt32(options.colors), dithers: options.isDithered, memory: UInt64(clamping: memory))
        var error = icodec_error()
        guard
            let animator = icodec_gif_animator_create(
                UInt32(width), UInt32(height), &lowered, UInt32(clamping: loops), &error)
        else { throw ImageCodecError(error, format: .gif) }
        self.animator = animator
    }

    deinit { icodec_gif_animator_destroy(animator) }

    func add(_ image: DecodedImage, milliseconds: Int) throws(ImageCodecError) {
        try budget.measured(.gif) { watch, error in
            icodec_gif_animator_add(
                animator, image.pixels.bytes, image.bytesPerRow, UInt64(clamping: milliseconds), &watch, &error)
        }
    }

    func finish(profile: [UInt8]?, exif: [UInt8]?) throws(ImageCodecError) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        try budget.measured(.gif) { watch, error in
            icodec_gif_animator_finish(animator, &watch, &bytes, &count, &error)
        }
        return ImageEncoder.take(bytes, count)
    }
}
