internal import CImageCodec

/// A reader of an icon or a cursor in memory. Not Sendable: used by one thread at a time, and during the lifetime of its bytes.
final class ICOReader: PlanesReading {
    let header: ImageHeader
    private let ico: OpaquePointer

    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: icodec_limits) throws(ImageCodecError) {
        var error = icodec_error()
        var limits = limits
        guard let ico = icodec_ico_open(bytes.baseAddress, bytes.count, &limits, &error) else {
            throw ImageCodecError(error, format: .ico)
        }
        self.ico = ico
        var description = icodec_description()
        icodec_ico_describe(ico, &description)
        header = ImageHeader(description, .ico, fileSize: bytes.count)
    }

    deinit { icodec_ico_close(ico) }

    var width: Int { header.width }
    var height: Int { header.height }

    /// - Parameter frame: 0, the only one.
    func start(frame: Int, _ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        icodec_ico_set_watch(ico, &watch)
        guard icodec_ico_start(ico, &error) else { throw ImageCodecError(error, format: .ico) }
    }

    func read(
        into rows: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var error = icodec_error()
        var got: UInt32 = 0
        icodec_ico_set_watch(ico, &watch)
        guard icodec_ico_rows(ico, rows, width * 4, UInt32(count), &got, &error) else {
            throw ImageCodecError(error, format: .ico)
        }
        return Int(got)
    }
}
