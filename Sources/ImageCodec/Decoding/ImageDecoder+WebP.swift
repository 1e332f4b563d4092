internal import CImageCodec

enum WebPDecoding: FormatDecoding {
    static var readsWhole: Bool { true }

    static func header(of source: ImageSource, limits: icodec_limits) throws(ImageCodecError) -> ImageHeader {
        try source.all().withUnsafeBufferPointer { (bytes) throws(ImageCodecError) in
            try WebPReader(bytes, limits: limits).header
        }
    }

    /// libwebp's scaler averages areas. That is good enough if the better filter still reduces the result, so libwebp scales to
    /// three times the target size.
    static func scale(of header: ImageHeader, for size: ResizePlan.Size) -> DecodingScale {
        let width = size.width * 3
        let height = size.height * 3
        guard header.description.fills_canvas, width <= header.width, height <= header.height, width < header.width
        else { return .whole }
        return .size(width: width, height: height)
    }

    /// The memory for the file, the decoded pixels, and the full-size pixels of a lossless image, or the full-size alpha of another one, which
    /// is coded without loss as well.
    static func memory(of header: ImageHeader, at scale: DecodingScale) -> Int {
        let size = header.size(at: scale)
        let isCodedWhole = header.description.is_lossless || header.description.has_alpha
        return header.fileSize + size.width * size.height * 4 + (isCodedWhole ? header.width * header.height * 5 : 0)
    }

    static func decode(_ source: ImageSource, _ pass: DecodingPass, by decoder: ImageDecoder) throws(ImageCodecError) {
        try decoder.decodeWebP(source, pass)
    }
}

extension ImageDecoder {
    fileprivate func decodeWebP(_ source: ImageSource, _ pass: DecodingPass) throws(ImageCodecError) {
        // libwebp requires all bytes at once.
        try source.all().withUnsafeBufferPointer { (bytes) throws(ImageCodecError) in
            let reader = try pass.shared { (watch) throws(ImageCodecError) in
                try WebPReader(bytes, limits: limits.lowered(allowTruncated: allowTruncated, watch))
            }
            try decodeWebP(reader, pass)
        }
    }

    private func decodeWebP(_ reader: WebPReader, _ pass: DecodingPass) throws(ImageCodecError) {
        let header = reader.header
        let mayHaveAlpha = header.description.has_alpha || allowTruncated
        let lanes = lanes(header, pass, hasAlpha: mayHaveAlpha, linear: usesLinearLight)
        guard let first = lanes.first else { return }
        let decoded = header.size(at: first.target.scale)
        let isDirect = lanes.count == 1 && first.resizer.resizing.isIdentity
        let all = isDirect ? first.resizer.pixels : try PixelBuffer(byteCount: decoded.width * decoded.height * 4)
        let damage = try pass.shared { (watch) throws(ImageCodecError) in
            try reader.decode(into: all, size: decoded, watch)
        }
        if !isDirect { RowFeed(lanes: lanes, pass: pass).run(all.bytes, decoded) }
        let conversion = try pass.conversion(of: header, color)
        finish(lanes, header, conversion, mayHaveAlpha: mayHaveAlpha, damage: damage)
    }
}
