internal import CImageCodec

/// A reader of a JPEG XL in memory. Not Sendable: used by one thread at a time, and during the lifetime of its bytes.
final class JPEGXLReader: PlanesReading {
    let header: ImageHeader
    private let jxl: OpaquePointer

    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: icodec_limits) throws(ImageCodecError) {
        var error = icodec_error()
        var limits = limits
        guard let jxl = icodec_jxl_open(bytes.baseAddress, bytes.count, &limits, &error) else {
            throw ImageCodecError(error, format: .jpegXL)
        }
        self.jxl = jxl
        var description = icodec_description()
        icodec_jxl_describe(jxl, &description)
        var header = ImageHeader(description, .jpegXL, fileSize: bytes.count)
        // libjxl has turned it by the codestream's orientation, and Exif's does not count (ISO/IEC 18181-2).
        header.orientation = .up
        self.header = header
    }

    deinit { icodec_jxl_close(jxl) }

    var width: Int { header.width }
    var height: Int { header.height }

    /// - Parameter frame: 0, the only one.
    func start(frame: Int, _ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        icodec_jxl_set_watch(jxl, &watch)
        guard icodec_jxl_start(jxl, &error) else { throw ImageCodecError(error, format: .jpegXL) }
    }

    func read(
        into rows: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var error = icodec_error()
        var got: UInt32 = 0
        icodec_jxl_set_watch(jxl, &watch)
        guard icodec_jxl_rows(jxl, rows, width * 4, UInt32(count), &got, &error) else {
            throw ImageCodecError(error, format: .jpegXL)
        }
        return Int(got)
    }
}
