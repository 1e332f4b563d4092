internal import CImageCodec

/// A reader of one PNG. Not Sendable: used by one thread at a time.
final class PNGReader: RowReading {
    let header: ImageHeader
    private let png: OpaquePointer

    init(_ source: icodec_source, limits: icodec_limits) throws(ImageCodecError) {
        var error = icodec_error()
        var source = source
        var limits = limits
        guard let png = icodec_png_open(&source, &limits, &error) else { throw ImageCodecError(error, format: .png) }
        self.png = png
        var description = icodec_description()
        icodec_png_describe(png, &description)
        header = ImageHeader(description, .png, fileSize: source.size)
    }

    deinit { icodec_png_close(png) }

    var width: Int { header.width }
    var height: Int { header.height }
    var isInterlaced: Bool { header.description.interlaced }

    func start(_ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        icodec_png_set_watch(png, &watch)
        guard icodec_png_start(png, &error) else { throw ImageCodecError(error, format: .png) }
    }

    func read(
        into rows: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var error = icodec_error()
        var got: UInt32 = 0
        icodec_png_set_watch(png, &watch)
        guard icodec_png_rows(png, rows, width * 4, UInt32(count), &got, &error) else {
            throw ImageCodecError(error, format: .png)
        }
        return Int(got)
    }

    /// Reads an interlaced image.
    func readAll(into pixels: PixelBuffer, _ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        icodec_png_set_watch(png, &watch)
        guard icodec_png_image(png, pixels.bytes, width * 4, &error) else {
            throw ImageCodecError(error, format: .png)
        }
    }

    /// Checks the data after the pixels.
    func finish(_ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        icodec_png_set_watch(png, &watch)
        guard icodec_png_finish(png, &error) else { throw ImageCodecError(error, format: .png) }
    }

    /// The error at which reading ended.
    var damage: ImageCodecError? {
        let damage = icodec_png_damage(png)
        return damage.code == 0 ? nil : ImageCodecError(damage, format: .png)
    }
}
