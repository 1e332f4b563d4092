internal import CImageCodec

/// The C functions of a format whose decoder reads a file in memory and delivers rows.
struct PlanesFunctions {
    let format: ImageFormat
    let open:
        (
            UnsafePointer<UInt8>?, Int, UnsafePointer<icodec_limits>?, UnsafeMutablePointer<icodec_error>?
        ) -> OpaquePointer?
    /// Describes the image. Returns the orientation that counts instead of Exif's; `nil`: Exif's counts.
    let describe: (OpaquePointer, UnsafeMutablePointer<icodec_description>) -> ImageOrientation?
    let setWatch: (OpaquePointer?, UnsafePointer<icodec_watch>?) -> Void
    /// Decodes a frame, counted from 0.
    let start: (OpaquePointer, Int, UnsafeMutablePointer<icodec_error>) -> Bool
    let rows:
        (
            OpaquePointer?, UnsafeMutablePointer<UInt8>?, Int, UInt32, UnsafeMutablePointer<UInt32>?,
            UnsafeMutablePointer<icodec_error>?
        ) -> Bool
    let close: (OpaquePointer?) -> Void
}

/// A reader of a file in memory. Not Sendable: used by one thread at a time, and during the lifetime of its bytes.
final class PlanesReader: RowReading {
    let header: ImageHeader
    private let functions: PlanesFunctions
    private let file: OpaquePointer

    init(
        _ bytes: UnsafeBufferPointer<UInt8>, limits: icodec_limits, _ functions: PlanesFunctions
    ) throws(ImageCodecError) {
        var error = icodec_error()
        var limits = limits
        guard let file = functions.open(bytes.baseAddress, bytes.count, &limits, &error) else {
            throw ImageCodecError(error, format: functions.format)
        }
        self.functions = functions
        self.file = file
        var description = icodec_description()
        let orientation = functions.describe(file, &description)
        var header = ImageHeader(description, functions.format, fileSize: bytes.count)
        if let orientation { header.orientation = orientation }
        self.header = header
    }

    deinit { functions.close(file) }

    var width: Int { header.width }
    var height: Int { header.height }

    /// Decodes a frame, counted from 0, before its rows are read.
    func start(frame: Int, _ watch: inout icodec_watch) throws(ImageCodecError) {
        var error = icodec_error()
        functions.setWatch(file, &watch)
        guard functions.start(file, frame, &error) else { throw ImageCodecError(error, format: functions.format) }
    }

    func read(
        into rows: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var error = icodec_error()
        var got: UInt32 = 0
        functions.setWatch(file, &watch)
        guard functions.rows(file, rows, width * 4, UInt32(count), &got, &error) else {
            throw ImageCodecError(error, format: functions.format)
        }
        return Int(got)
    }
}
