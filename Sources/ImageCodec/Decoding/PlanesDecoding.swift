internal import CImageCodec

/// The decoder of a format whose reader requires all bytes at once, and delivers rows.
protocol PlanesDecoding: FormatDecoding {
    static var functions: PlanesFunctions { get }
}

/// A still AVIF, or a frame of a sequence.
enum AVIFDecoding: PlanesDecoding {
    static var functions: PlanesFunctions {
        PlanesFunctions(
            format: .avif, open: icodec_avif_open,
            describe: {
                var orientation: Int32 = 1
                icodec_avif_describe($0, $1, &orientation)
                // The container's own properties count, and not Exif's (ISO/IEC 23000-22, section 7.2).
                return ImageOrientation(rawValue: Int(orientation)) ?? .up
            },
            setWatch: icodec_avif_set_watch, start: { icodec_avif_start($0, UInt32(clamping: $1), $2) },
            rows: icodec_avif_rows, close: icodec_avif_close)
    }
}

/// The primary image of an HEIF with HEVC, such as a phone's HEIC. Decoded in worker processes only.
enum HEIFDecoding: PlanesDecoding {
    static var functions: PlanesFunctions {
        PlanesFunctions(
            format: .heif, open: icodec_heif_open,
            describe: {
                icodec_heif_describe($0, $1)
                // The container's properties have turned it, and Exif's orientation does not count (ISO/IEC 23008-12, section 6.5.10).
                return .up
            },
            setWatch: icodec_heif_set_watch, start: { icodec_heif_start($0, $2) },
            rows: icodec_heif_rows, close: icodec_heif_close)
    }
}

/// A JPEG XL, or the first image of an animated one. Decoded in worker processes only.
enum JPEGXLDecoding: PlanesDecoding {
    static var functions: PlanesFunctions {
        PlanesFunctions(
            format: .jpegXL, open: icodec_jxl_open,
            describe: {
                icodec_jxl_describe($0, $1)
                // libjxl has turned it by the codestream's orientation, and Exif's does not count (ISO/IEC 18181-2).
                return .up
            },
            setWatch: icodec_jxl_set_watch, start: { icodec_jxl_start($0, $2) },
            rows: icodec_jxl_rows, close: icodec_jxl_close)
    }
}

/// The first image of a TIFF. Decoded in worker processes only.
enum TIFFDecoding: PlanesDecoding {
    static var functions: PlanesFunctions {
        PlanesFunctions(
            format: .tiff, open: icodec_tiff_open,
            describe: {
                var orientation: Int32 = 1
                icodec_tiff_describe($0, $1, &orientation)
                return ImageOrientation(rawValue: Int(orientation)) ?? .up
            },
            setWatch: icodec_tiff_set_watch, start: { icodec_tiff_start($0, $2) },
            rows: icodec_tiff_rows, close: icodec_tiff_close)
    }
}

/// A BMP of Windows or OS/2.
enum BMPDecoding: PlanesDecoding {
    static var functions: PlanesFunctions {
        PlanesFunctions(
            format: .bmp, open: icodec_bmp_open,
            describe: {
                icodec_bmp_describe($0, $1)
                return nil
            },
            setWatch: icodec_bmp_set_watch, start: { icodec_bmp_start($0, $2) },
            rows: icodec_bmp_rows, close: icodec_bmp_close)
    }
}

/// The best picture of an icon or a cursor.
enum ICODecoding: PlanesDecoding {
    static var functions: PlanesFunctions {
        PlanesFunctions(
            format: .ico, open: icodec_ico_open,
            describe: {
                icodec_ico_describe($0, $1)
                return nil
            },
            setWatch: icodec_ico_set_watch, start: { icodec_ico_start($0, $2) },
            rows: icodec_ico_rows, close: icodec_ico_close)
    }
}

extension PlanesDecoding {
    static var readsWhole: Bool { true }

    static func header(of source: ImageSource, limits: icodec_limits) throws(ImageCodecError) -> ImageHeader {
        try source.all().withUnsafeBufferPointer { (bytes) throws(ImageCodecError) in
            try PlanesReader(bytes, limits: limits, functions).header
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
                try PlanesReader(bytes, limits: decoder.limits.lowered(allowTruncated: false, watch), functions)
            }
            try decoder.decode(reader, pass)
        }
    }
}

extension ImageDecoder {
    fileprivate func decode(_ reader: PlanesReader, _ pass: DecodingPass) throws(ImageCodecError) {
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
