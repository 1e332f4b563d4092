internal import CImageCodec

/// The primary image of an HEIF with HEVC, such as a phone's HEIC. Decoded in worker processes only.
enum HEIFDecoding: FormatDecoding {
    static func header(of source: ImageSource, limits: icodec_limits) throws(ImageCodecError) -> ImageHeader {
        try source.all().withUnsafeBufferPointer { (bytes) throws(ImageCodecError) in
            try HEIFReader(bytes, limits: limits).header
        }
    }

    static func scale(of header: ImageHeader, for size: ResizePlan.Size) -> DecodingScale { .whole }

    /// The file, the planes that are decoded, and a band of rows.
    static func memory(of header: ImageHeader, at scale: DecodingScale) -> Int {
        header.fileSize + Int(clamping: header.description.decoded_bytes) + header.width * 4 * 68
    }

    static func decode(_ source: ImageSource, _ pass: DecodingPass, by decoder: ImageDecoder) throws(ImageCodecError) {
        // libheif requires all bytes at once.
        try source.all().withUnsafeBufferPointer { (bytes) throws(ImageCodecError) in
            let reader = try pass.shared { (watch) throws(ImageCodecError) in
                try HEIFReader(bytes, limits: decoder.limits.lowered(allowTruncated: false, watch))
            }
            try decoder.decodeHEIF(reader, pass)
        }
    }
}

extension ImageDecoder {
    fileprivate func decodeHEIF(_ reader: HEIFReader, _ pass: DecodingPass) throws(ImageCodecError) {
        let header = reader.header
        let hasAlpha = header.description.has_alpha
        let lanes = lanes(header, pass, hasAlpha: hasAlpha, linear: usesLinearLight)
        guard !lanes.isEmpty else { return }
        try pass.shared { (watch) throws(ImageCodecError) in try reader.start(&watch) }
        try RowFeed(lanes: lanes, pass: pass).run(reader)
        let conversion = try pass.conversion(of: header, color)
        finish(lanes, header, conversion, mayHaveAlpha: hasAlpha, damage: nil)
    }
}
