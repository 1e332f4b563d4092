internal import CImageCodec

/// A reader of the first frame of a GIF, on the canvas. Not Sendable: used by one thread at a time.
final class GIFReader: RowReading {
    private(set) var header: ImageHeader
    let gif: OpaquePointer

    init(_ source: icodec_source, limits: icodec_limits) throws(ImageCodecError) {
        var error = icodec_error()
        var source = source
        var limits = limits
        guard let gif = icodec_gif_open(&source, &limits, &error) else { throw ImageCodecError(error, format: .gif) }
        self.gif = gif
        var description = icodec_description()
        icodec_gif_describe(gif, &description)
        header = ImageHeader(description, .gif, fileSize: source.size)
    }

    deinit { icodec_gif_close(gif) }

    var width: Int { header.width }
    var height: Int { header.height }

    /// Counts the frames, and their time, for the header. Nothing can be read afterwards.
    func countFrames() throws(ImageCodecError) {
        var error = icodec_error()
        guard icodec_gif_count(gif, &header.description, &error) else {
            throw ImageCodecError(error, format: .gif)
        }
    }

    func read(
        into rows: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var error = icodec_error()
        var got: UInt32 = 0
        icodec_gif_set_watch(gif, &watch)
        guard icodec_gif_rows(gif, rows, width * 4, UInt32(count), &got, &error) else {
            throw ImageCodecError(error, format: .gif)
        }
        return Int(got)
    }

    /// The defect at which reading ended.
    var damage: ImageCodecError? {
        let damage = icodec_gif_damage(gif)
        return damage.code == 0 ? nil : ImageCodecError(damage, format: .gif)
    }
}
