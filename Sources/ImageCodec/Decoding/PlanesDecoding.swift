internal import CImageCodec

/// The decoder of a format whose reader requires all bytes at once, and delivers rows.
protocol PlanesDecoding: FormatDecoding {
    associatedtype Reader: PlanesReading
}

/// A reader of a file in memory. Used by one thread at a time, and during the lifetime of its bytes.
protocol PlanesReading: RowReading {
    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: icodec_limits) throws(ImageCodecError)

    var header: ImageHeader { get }

    /// Decodes a frame, counted from 0, before its rows are read.
    func start(frame: Int, _ watch: inout icodec_watch) throws(ImageCodecError)
}

/// A still AVIF, or a frame of a sequence.
enum AVIFDecoding: PlanesDecoding { typealias Reader = AVIFReader }

/// The primary image of an HEIF with HEVC, such as a phone's HEIC. Decoded in worker processes only.
enum HEIFDecoding: PlanesDecoding { typealias Reader = HEIFReader }

/// A JPEG XL, or the first image of an animated one. Decoded in worker processes only.
enum JPEGXLDecoding: PlanesDecoding { typealias Reader = JPEGXLReader }

/// The first image of a TIFF. Decoded in worker processes only.
enum TIFFDecoding: PlanesDecoding { typealias Reader = TIFFReader }

/// A BMP of Windows or OS/2.
enum BMPDecoding: PlanesDecoding { typealias Reader = BMPReader }

/// The best picture of an icon or a cursor.
enum ICODecoding: PlanesDecoding { typealias Reader = ICOReader }

extension PlanesDecoding {
    static var readsWhole: Bool { true }

    static func header(of source: ImageSource, limits: icodec_limits) throws(ImageCodecError) -> ImageHeader {
        try source.all().withUnsafeBufferPointer { (bytes) throws(ImageCodecError) in
            try Reader(bytes, limits: limits).header
        }
    }

    static func scale(of header: ImageHeader, for size: ResizePlan.Size) -> DecodingScale { .whole }

    /// The file, the planes that are decoded, and a band of rows.
    static func memory(of header: ImageHeader, at scale: DecodingScale) -> Int {
        let planes = DecodingLimits.bounded(memory: Int(clamping: header.description.decoded_bytes))
        return header.fileSize + planes + header.width * 4 * 68
    }

    static func decode(_ source: ImageSource, _ pass: DecodingPass, by decoder: ImageDecoder) throws(ImageCodecError) {
        try source.all().withUnsafeBufferPointer { (bytes) throws(ImageCodecError) in
            let reader = try pass.shared { (watch) throws(ImageCodecError) in
                try Reader(bytes, limits: decoder.limits.lowered(allowTruncated: false, watch))
            }
            try decoder.decode(reader, pass)
        }
    }
}

extension ImageDecoder {
    fileprivate func decode(_ reader: some PlanesReading, _ pass: DecodingPass) throws(ImageCodecError) {
        let header = reader.header
        guard frame < header.frameCount else { throw noFrame(header.format) }
        let hasAlpha = header.description.has_alpha
        let lanes = lanes(header, pass, hasAlpha: hasAlpha, linear: usesLinearLight)
        guard !lanes.isEmpty else { return }
        try pass.shared { (watch) throws(ImageCodecError) in try reader.start(frame: frame, &watch) }
        try RowFeed(lanes: lanes, pass: pass).run(reader)
        let conversion = try pass.conversion(of: header, color)
        finish(lanes, header, conversion, mayHaveAlpha: hasAlpha, damage: nil)
    }
}
