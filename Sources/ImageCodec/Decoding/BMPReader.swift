internal import CImageCodec

/// A reader of a BMP in memory. Not Sendable: used by one thread at a time, and during the lifetime of its bytes.
final class BMPReader: PlanesReading {
    let header: ImageHeader
    private let bmp: OpaquePointer

    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: icodec_limits) throws(ImageCodecError) {
        var error = icodec_error()
        var limits = limits
        guard let bmp = icodec_bmp_open(bytes.baseAddress, bytes.count, &limits, &error) else {
            throw ImageCodecError(error, format: .bmp)
        }
        self.bmp = bmp
        var description = icodec_description()
        icodec_bmp_describe(bmp, &description)
        header = ImageHeader(description, .bmp, fileSize: bytes.count)
    }

    deinit { icodec_bmp_close(bmp) }

    var width: Int { header.width }
    var height: Int { header.height }

    /// - Parameter frame: 0, the only one.
    func start(frame: Int, _ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        icodec_bmp_set_watch(bmp, &watch)
        guard icodec_bmp_start(bmp, &error) else { throw ImageCodecError(error, format: .bmp) }
    }

    func read(
        into rows: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var error = icodec_error()
        var got: UInt32 = 0
        icodec_bmp_set_watch(bmp, &watch)
        guard icodec_bmp_rows(bmp, rows, width * 4, UInt32(count), &got, &error) else {
            throw ImageCodecError(error, format: .bmp)
        }
        return Int(got)
    }
}
