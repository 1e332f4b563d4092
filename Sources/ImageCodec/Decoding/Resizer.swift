internal import CImageCodec
internal import Glibc

/// The resize of one image: from the decoder's size to the part of the scaled image that is kept.
struct Resizing {
    var horizontal: icodec_axis
    var vertical: icodec_axis
    var flags: Int32

    /// - Parameters:
    ///   - extent: The source's size, which need not be whole: a JPEG that is decoded at 1/8 has a last column that stands for less
    ///     than eight.
    ///   - source: Its size in pixels that there are.
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
        flags = (hasAlpha ? Int32(ICODEC_RESIZE_ALPHA) : 0) | (linear ? Int32(ICODEC_RESIZE_LINEAR) : 0)
    }

    /// Whether nothing is to be done.
    var isIdentity: Bool { Self.isIdentity(horizontal) && Self.isIdentity(vertical) }

    private static func isIdentity(_ axis: icodec_axis) -> Bool {
        axis.extent == Double(axis.source) && axis.scaled == axis.source && axis.first == 0 && axis.count == axis.source
    }

    /// Bytes that the filter and the rows under way take.
    var memory: Int {
        var (across, down) = (horizontal, vertical)
        return Int(icodec_resizer_memory(&across, &down)) + rowsAtATime * Int(horizontal.source) * 4
    }

    /// Rows that are read at once: about 128 KiB, so that they are still in the processor's cache when they are filtered.
    var rowsAtATime: Int { max(1, min(16, (128 << 10) / (Int(horizontal.source) * 4))) }

    /// Takes a reader's rows to pixels of the window's size. Rows that a cut file lacks count as transparent.
    func run(_ reader: some RowReading, into pixels: PixelBuffer) throws(ImageCodecError) {
        let stride = Int(horizontal.source) * 4
        if isIdentity {
            _ = try reader.read(into: pixels.bytes, count: reader.height)
            return
        }
        let rows = try PixelBuffer(byteCount: rowsAtATime * stride)
        let resizer = try CResizer(self, into: pixels)
        var seen = 0
        while seen < reader.height {
            let got = try reader.read(into: rows.bytes, count: min(rowsAtATime, reader.height - seen))
            if got == 0 { break }
            for index in 0..<got { resizer.push(rows.bytes + index * stride) }
            seen += got
        }
        if seen < reader.height {
            memset(rows.bytes, 0, stride)
            for _ in seen..<reader.height { resizer.push(rows.bytes) }
        }
    }

    /// The same for pixels that are all there.
    func run(_ source: PixelBuffer, into pixels: PixelBuffer) throws(ImageCodecError) {
        let stride = Int(horizontal.source) * 4
        let resizer = try CResizer(self, into: pixels)
        for row in 0..<Int(vertical.source) { resizer.push(source.bytes + row * stride) }
    }
}

/// Owns the C target's resizer.
private final class CResizer {
    private let resizer: OpaquePointer

    init(_ resizing: Resizing, into pixels: PixelBuffer) throws(ImageCodecError) {
        var (across, down) = (resizing.horizontal, resizing.vertical)
        guard
            let resizer = icodec_resizer_create(
                &across, &down, resizing.flags, pixels.bytes, Int(resizing.horizontal.count) * 4)
        else { throw .outOfMemory }
        self.resizer = resizer
    }

    deinit { icodec_resizer_destroy(resizer) }

    func push(_ row: UnsafePointer<UInt8>) { icodec_resizer_push(resizer, row) }
}
