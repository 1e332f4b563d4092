internal import CImageCodec
internal import Glibc

/// The resize of one image: from the decoder's size to the kept part of the scaled image.
struct Resizing {
    var horizontal: icodec_axis
    var vertical: icodec_axis
    var flags: Int32

    /// - Parameters:
    ///   - extent: The source's size, not necessarily whole: the last column of a JPEG that is decoded at 1/8 stands
    ///     for less than eight pixels.
    ///   - source: The size in existing pixels.
    init(
        extent: (width: Double, height: Double), source: ResizePlan.Size, scaled: ResizePlan.Size,
        window: ResizePlan.Rectangle, hasAlpha: Bool, linear: Bool, correction: Double = 0
    ) {
        horizontal = icodec_axis(
            extent: extent.width, source: UInt32(source.width), scaled: UInt32(scaled.width), first: UInt32(window.x),
            count: UInt32(window.width), correction: correction)
        vertical = icodec_axis(
            extent: extent.height, source: UInt32(source.height), scaled: UInt32(scaled.height),
            first: UInt32(window.y), count: UInt32(window.height), correction: correction)
        flags = linear ? Int32(ICODEC_RESIZE_LINEAR) : 0
        self.hasAlpha = hasAlpha
    }

    /// False: the fourth channel is not alpha, or 255 everywhere.
    var hasAlpha: Bool {
        get { flags & Int32(ICODEC_RESIZE_ALPHA) != 0 }
        set { flags = flags & ~Int32(ICODEC_RESIZE_ALPHA) | (newValue ? Int32(ICODEC_RESIZE_ALPHA) : 0) }
    }

    /// The resize of a file's rows at the decoder's scale. libjpeg rounds sizes up; the filter uses the exact ones.
    init(_ header: ImageHeader, _ scale: DecodingScale, _ plan: StoredPlan, hasAlpha: Bool, linear: Bool) {
        let source = header.size(at: scale)
        var extent = (Double(source.width), Double(source.height))
        var correction = 0.0
        if case .eighths(let eighths) = scale {
            extent = (Double(header.width * eighths) / 8, Double(header.height * eighths) / 8)
            correction = ImageDecoder.correction(eighths)
        }
        self.init(
            extent: extent, source: source, scaled: plan.scaled, window: plan.window, hasAlpha: hasAlpha,
            linear: linear, correction: correction)
    }

    /// True if the size does not change.
    var isIdentity: Bool { Self.isIdentity(horizontal) && Self.isIdentity(vertical) }

    private static func isIdentity(_ axis: icodec_axis) -> Bool {
        axis.extent == Double(axis.source) && axis.scaled == axis.source && axis.first == 0 && axis.count == axis.source
    }

    /// The memory of the filter and of rows in progress, in bytes.
    var memory: Int {
        var (across, down) = (horizontal, vertical)
        return Int(clamping: icodec_resizer_memory(&across, &down)) + rowsAtATime * Int(horizontal.source) * 4
    }

    /// The number of rows to read at once: about 128 KiB, so that they remain in the processor's cache for filtering.
    var rowsAtATime: Int { max(1, min(16, (128 << 10) / (Int(horizontal.source) * 4))) }
}

/// Receives an image's rows from the top and writes the resized image.
final class RowResizer {
    private(set) var resizing: Resizing
    /// The pixels of the window; none once they were taken.
    private(set) var pixels: PixelBuffer
    /// The C target's resizer; nil if rows are copied.
    private let resizer: OpaquePointer?
    private var copied = 0

    /// - Throws: `outOfMemory`.
    init(_ resizing: Resizing) throws(ImageCodecError) {
        self.resizing = resizing
        let stride = Int(resizing.horizontal.count) * 4
        pixels = try PixelBuffer(byteCount: stride * Int(resizing.vertical.count))
        guard !resizing.isIdentity else {
            resizer = nil
            return
        }
        var (across, down) = (resizing.horizontal, resizing.vertical)
        guard let resizer = icodec_resizer_create(&across, &down, resizing.flags, pixels.bytes, stride) else {
            throw .outOfMemory
        }
        self.resizer = resizer
    }

    deinit { icodec_resizer_destroy(resizer) }

    /// Gives the pixels away after the last row, so that their memory is freed when the image no longer needs it.
    ///
    /// - Throws: `outOfMemory`.
    func takePixels() throws(ImageCodecError) -> PixelBuffer {
        let taken = pixels
        pixels = try PixelBuffer(byteCount: 0)
        return taken
    }

    /// Begins another image of the same size, with new pixels.
    ///
    /// - Throws: `outOfMemory`.
    func restart(hasAlpha: Bool) throws(ImageCodecError) {
        pixels = try PixelBuffer(byteCount: pixels.byteCount)
        resizing.hasAlpha = hasAlpha
        copied = 0
        if let resizer { icodec_resizer_restart(resizer, resizing.flags, pixels.bytes) }
    }

    /// Processes the next rows.
    ///
    /// - Parameter step: The number of bytes from one row to the next; 0 to repeat the same row.
    func push(
        _ rows: UnsafePointer<UInt8>, count: Int, step: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) {
        let width = Int(resizing.horizontal.source)
        guard let resizer else { return try copy(rows, count: count, step: step, &watch) }
        let between = max(1, icodec_watch.step / width)
        var untilCheck = between
        var index = 0
        while index < count {
            let number = min(2, count - index)
            untilCheck -= number
            if untilCheck <= 0 {
                try watch.check()
                untilCheck = between
            }
            let row = rows + index * step
            var error = icodec_error()
            guard icodec_resizer_push(resizer, row, number == 2 ? row + step : nil, &watch, &error) else {
                throw ImageCodecError(error, format: nil)
            }
            index += number
        }
    }

    /// Copies rows of an image that keeps its size.
    private func copy(
        _ rows: UnsafePointer<UInt8>, count: Int, step: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) {
        let width = Int(resizing.horizontal.source)
        let between = max(1, icodec_watch.step / width)
        for index in 0..<count {
            if index % between == between - 1 { try watch.check() }
            memcpy(pixels.bytes + copied * width * 4, rows + index * step, width * 4)
            copied += 1
        }
    }
}
