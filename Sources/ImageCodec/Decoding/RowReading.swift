internal import CImageCodec

/// A reader of an image's rows, four channels of 8 bits.
protocol RowReading {
    /// The size that is read.
    var width: Int { get }
    var height: Int { get }
    /// Reads the next rows; fewer than `count` at the end of the image, or of a truncated file's data.
    func read(
        into rows: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int
}

/// A reader of one JPEG. Not Sendable: used by one thread at a time.
final class JPEGReader: RowReading {
    let header: ImageHeader
    private let jpeg: OpaquePointer
    private(set) var width = 0
    private(set) var height = 0

    init(_ source: icodec_source, limits: icodec_limits) throws(ImageCodecError) {
        var error = icodec_error()
        var source = source
        var limits = limits
        guard let jpeg = icodec_jpeg_open(&source, &limits, &error) else {
            throw ImageCodecError(error, format: .jpeg)
        }
        self.jpeg = jpeg
        var description = icodec_description()
        icodec_jpeg_describe(jpeg, &description)
        header = ImageHeader(description, .jpeg, fileSize: source.size)
    }

    deinit { icodec_jpeg_close(jpeg) }

    /// The file's only scan, if it is one that an ``EighthScaleDecoder`` may decode.
    var scan: icodec_jpeg_scan? {
        var scan = icodec_jpeg_scan()
        return icodec_jpeg_describe_scan(jpeg, &scan) ? scan : nil
    }

    /// Reads bytes of the file, without effect on the decoder: 0 at the end, negative on failure.
    func peek(at position: UInt64, into bytes: UnsafeMutablePointer<UInt8>, count: Int) -> Int {
        icodec_jpeg_peek(jpeg, position, bytes, count)
    }

    /// - Parameters:
    ///   - eighths: The scale in eighths of the size, 1 … 8.
    ///   - rawCMYK: True to keep CMYK pixels, so that the profile can convert them.
    func start(eighths: Int, rawCMYK: Bool, _ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        var size: (UInt32, UInt32) = (0, 0)
        icodec_jpeg_set_watch(jpeg, &watch)
        guard icodec_jpeg_start(jpeg, Int32(eighths), rawCMYK, &size.0, &size.1, &error) else {
            throw ImageCodecError(error, format: .jpeg)
        }
        (width, height) = (Int(size.0), Int(size.1))
    }

    func read(
        into rows: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var error = icodec_error()
        var got: UInt32 = 0
        icodec_jpeg_set_watch(jpeg, &watch)
        guard icodec_jpeg_rows(jpeg, rows, width * 4, UInt32(count), &got, &error) else {
            throw ImageCodecError(error, format: .jpeg)
        }
        return Int(got)
    }

    /// Checks the data after the last row.
    func finish(_ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        icodec_jpeg_set_watch(jpeg, &watch)
        guard icodec_jpeg_finish(jpeg, &error) else { throw ImageCodecError(error, format: .jpeg) }
    }

    /// The first tolerated defect.
    var damage: ImageCodecError? {
        let damage = icodec_jpeg_damage(jpeg)
        return damage.code == 0 ? nil : ImageCodecError(damage, format: .jpeg)
    }
}
