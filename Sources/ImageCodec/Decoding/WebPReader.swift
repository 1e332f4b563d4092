internal import CImageCodec

/// A reader of a WebP container in memory. Valid during the lifetime of its bytes.
struct WebPReader {
    let header: ImageHeader
    private let frame: icodec_webp_frame
    private let limits: icodec_limits

    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: icodec_limits) throws(ImageCodecError) {
        var error = icodec_error()
        var frame = icodec_webp_frame()
        var description = icodec_description()
        var lowered = limits
        guard icodec_webp_describe(bytes.baseAddress, bytes.count, &lowered, &description, &frame, &error) else {
            throw ImageCodecError(error, format: .webp)
        }
        self.frame = frame
        self.limits = limits
        header = ImageHeader(description, .webp, fileSize: bytes.count)
    }

    /// True if the first frame fills the canvas; otherwise the rest of the canvas is transparent.
    private var fillsCanvas: Bool { header.description.fills_canvas }

    /// Decodes the first frame, at its size or (if it fills the canvas) a smaller one.
    ///
    /// - Returns: The tolerated defect, if any.
    func decode(
        into pixels: PixelBuffer, size: ResizePlan.Size, _ watch: icodec_watch
    ) throws(ImageCodecError) -> ImageCodecError? {
        var error = icodec_error()
        var (frame, limits) = (frame, limits)
        limits.watch = watch
        let start = fillsCanvas ? 0 : (Int(frame.y) * header.width + Int(frame.x)) * 4
        let (width, height) = fillsCanvas ? (size.width, size.height) : (Int(frame.width), Int(frame.height))
        guard Int(frame.x + frame.width) <= header.width, Int(frame.y + frame.height) <= header.height else {
            throw ImageCodecError(.corrupt, format: .webp, "the first frame lies outside the canvas")
        }
        guard
            icodec_webp_decode(
                &frame, &limits, pixels.bytes + start, UInt32(width), UInt32(height), size.width * 4, &error
            )
        else {
            let failure = ImageCodecError(error, format: .webp)
            guard limits.allow_truncated, failure.code == .truncated || failure.code == .corrupt else { throw failure }
            return failure
        }
        return nil
    }
}
