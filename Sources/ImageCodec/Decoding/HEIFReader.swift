internal import CImageCodec

/// A reader of an HEIF in memory. Not Sendable: used by one thread at a time, and during the lifetime of its bytes.
final class HEIFReader: PlanesReading {
    let header: ImageHeader
    private let heif: OpaquePointer

    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: icodec_limits) throws(ImageCodecError) {
        var error = icodec_error()
        var limits = limits
        guard let heif = icodec_heif_open(bytes.baseAddress, bytes.count, &limits, &error) else {
            throw ImageCodecError(error, format: .heif)
        }
        self.heif = heif
        var description = icodec_description()
        icodec_heif_describe(heif, &description)
        var header = ImageHeader(description, .heif, fileSize: bytes.count)
        // The container's properties have turned it, and Exif's orientation does not count (ISO/IEC 23008-12, section 6.5.10).
        header.orientation = .up
        self.header = header
    }

    deinit { icodec_heif_close(heif) }

    var width: Int { header.width }
    var height: Int { header.height }

    /// - Parameter frame: 0, the only one.
    func start(frame: Int, _ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        icodec_heif_set_watch(heif, &watch)
        guard icodec_heif_start(heif, &error) else { throw ImageCodecError(error, format: .heif) }
    }

    func read(
        into rows: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var error = icodec_error()
        var got: UInt32 = 0
        icodec_heif_set_watch(heif, &watch)
        guard icodec_heif_rows(heif, rows, width * 4, UInt32(count), &got, &error) else {
            throw ImageCodecError(error, format: .heif)
        }
        return Int(got)
    }
}
