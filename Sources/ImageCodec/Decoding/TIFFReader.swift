internal import CImageCodec

/// A reader of a TIFF in memory. Not Sendable: used by one thread at a time, and during the lifetime of its bytes.
final class TIFFReader: PlanesReading {
    let header: ImageHeader
    private let tiff: OpaquePointer

    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: icodec_limits) throws(ImageCodecError) {
        var error = icodec_error()
        var limits = limits
        guard let tiff = icodec_tiff_open(bytes.baseAddress, bytes.count, &limits, &error) else {
            throw ImageCodecError(error, format: .tiff)
        }
        self.tiff = tiff
        var description = icodec_description()
        var orientation: Int32 = 1
        icodec_tiff_describe(tiff, &description, &orientation)
        var header = ImageHeader(description, .tiff, fileSize: bytes.count)
        header.orientation = ImageOrientation(rawValue: Int(orientation)) ?? .up
        self.header = header
    }

    deinit { icodec_tiff_close(tiff) }

    var width: Int { header.width }
    var height: Int { header.height }

    /// - Parameter frame: 0, the only one.
    func start(frame: Int, _ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        icodec_tiff_set_watch(tiff, &watch)
        guard icodec_tiff_start(tiff, &error) else { throw ImageCodecError(error, format: .tiff) }
    }

    func read(
        into rows: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var error = icodec_error()
        var got: UInt32 = 0
        icodec_tiff_set_watch(tiff, &watch)
        guard icodec_tiff_rows(tiff, rows, width * 4, UInt32(count), &got, &error) else {
            throw ImageCodecError(error, format: .tiff)
        }
        return Int(got)
    }
}
