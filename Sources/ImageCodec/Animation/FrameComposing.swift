internal import CImageCodec

/// The frames of one file, composed one after another. Not Sendable: used by one thread at a time.
protocol FrameComposing: AnyObject {
    /// The header of the first frame.
    var header: ImageHeader { get }

    /// Composes the next frame. The canvas is allocated with the first one.
    ///
    /// - Returns: The canvas, R, G, B, A, valid until the next call; `nil` after the last frame.
    func next(_ watch: inout icodec_watch) throws(ImageCodecError) -> ComposedFrame?

    /// The defect at which the frames end.
    var damage: ImageCodecError? { get }
}

struct ComposedFrame {
    let canvas: UnsafePointer<UInt8>
    /// False: some pixels may be transparent.
    let isOpaque: Bool
    let milliseconds: Int
}

extension ImageDecoder {
    /// The frames of a GIF or WebP.
    func composer(
        of source: ImageSource, _ format: ImageFormat, _ watch: icodec_watch
    ) throws(ImageCodecError) -> any FrameComposing {
        let limits = limits.lowered(allowTruncated: allowTruncated, watch)
        return format == .gif
            ? try GIFComposer(source, limits: limits) : try WebPComposer(source, limits: limits)
    }
}

/// Composes the frames of a GIF on one canvas, as browsers do.
final class GIFComposer: FrameComposing {
    private let source: PinnedSource
    private let reader: GIFReader
    private var canvas: PixelBuffer?

    init(_ source: ImageSource, limits: icodec_limits) throws(ImageCodecError) {
        self.source = try PinnedSource(source)
        reader = try GIFReader(self.source.lent, limits: limits)
    }

    var header: ImageHeader { reader.header }

    func next(_ watch: inout icodec_watch) throws(ImageCodecError) -> ComposedFrame? {
        if canvas == nil { canvas = try PixelBuffer(byteCount: reader.width * reader.height * 4) }
        guard let canvas else { return nil }
        var error = icodec_error()
        var shown = icodec_gif_shown()
        icodec_gif_set_watch(reader.gif, &watch)
        guard icodec_gif_draw_next(reader.gif, canvas.bytes, &shown, &error) else {
            throw ImageCodecError(error, format: .gif)
        }
        guard shown.is_there else { return nil }
        return ComposedFrame(
            canvas: canvas.bytes, isOpaque: shown.is_opaque, milliseconds: Int(shown.milliseconds))
    }

    var damage: ImageCodecError? { reader.damage }
}

/// The frames of a WebP as libwebp composes them.
final class WebPComposer: FrameComposing {
    private let source: PinnedSource
    private var animation: OpaquePointer?
    let header: ImageHeader

    init(_ source: ImageSource, limits: icodec_limits) throws(ImageCodecError) {
        // libwebp requires all bytes at once.
        self.source = try PinnedSource(source, inMemory: true)
        let lent = self.source.lent
        header = try WebPReader(UnsafeBufferPointer(start: lent.bytes, count: lent.size), limits: limits).header
    }

    deinit { icodec_webp_animation_close(animation) }

    func next(_ watch: inout icodec_watch) throws(ImageCodecError) -> ComposedFrame? {
        var error = icodec_error()
        if animation == nil { animation = icodec_webp_animation_open(source.lent.bytes, source.lent.size, &error) }
        var canvas: UnsafePointer<UInt8>?
        var milliseconds: UInt32 = 0
        guard let animation, icodec_webp_animation_next(animation, &watch, &canvas, &milliseconds, &error) else {
            throw ImageCodecError(error, format: .webp)
        }
        return canvas.map { ComposedFrame(canvas: $0, isOpaque: false, milliseconds: Int(milliseconds)) }
    }

    var damage: ImageCodecError? { nil }
}

/// A source that a decoder may use beyond one call: its bytes keep their address, and its file stays open.
final class PinnedSource {
    let lent: icodec_source
    private let source: ImageSource
    private let copy: PixelBuffer?

    /// - Parameter inMemory: True to have the bytes of a file, too.
    init(_ source: ImageSource, inMemory: Bool = false) throws(ImageCodecError) {
        self.source = source
        let file = try source.lend { (lent) throws(ImageCodecError) in lent }
        if file.bytes == nil, !inMemory {
            (lent, copy) = (file, nil)
            return
        }
        let buffer = try PixelBuffer(byteCount: source.byteCount)
        try source.copy(into: UnsafeMutableRawBufferPointer(start: buffer.bytes, count: source.byteCount))
        copy = buffer
        lent = icodec_source(bytes: UnsafePointer(buffer.bytes), size: source.byteCount, fd: -1)
    }
}
