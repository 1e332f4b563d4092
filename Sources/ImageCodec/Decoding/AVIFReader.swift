internal import CImageCodec

/// A reader of an AVIF in memory. Not Sendable: used by one thread at a time, and during the lifetime of its bytes.
final class AVIFReader: PlanesReading {
    let header: ImageHeader
    private let avif: OpaquePointer

    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: icodec_limits) throws(ImageCodecError) {
        var error = icodec_error()
        var limits = limits
        guard let avif = icodec_avif_open(bytes.baseAddress, bytes.count, &limits, &error) else {
            throw ImageCodecError(error, format: .avif)
        }
        self.avif = avif
        var description = icodec_description()
        var orientation: Int32 = 1
        icodec_avif_describe(avif, &description, &orientation)
        var header = ImageHeader(description, .avif, fileSize: bytes.count)
        // The container's own properties count, and not Exif's (ISO/IEC 23000-22, section 7.2).
        header.orientation = ImageOrientation(rawValue: Int(orientation)) ?? .up
        self.header = header
    }

    deinit { icodec_avif_close(avif) }

    var width: Int { header.width }
    var height: Int { header.height }

    func start(frame: Int, _ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        icodec_avif_set_watch(avif, &watch)
        guard icodec_avif_start(avif, UInt32(clamping: frame), &error) else {
            throw ImageCodecError(error, format: .avif)
        }
    }

    func read(
        into rows: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var error = icodec_error()
        var got: UInt32 = 0
        icodec_avif_set_watch(avif, &watch)
        guard icodec_avif_rows(avif, rows, width * 4, UInt32(count), &got, &error) else {
            throw ImageCodecError(error, format: .avif)
        }
        return Int(got)
    }
}
