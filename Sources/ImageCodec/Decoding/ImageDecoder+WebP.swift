internal import CImageCodec

extension ImageDecoder {
    func decodeWebP(_ source: ImageSource, _ pass: DecodingPass) throws(ImageCodecError) {
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
        if !isDirect { RowFeed(lanes: lanes, pass: pass).run(all, decoded) }
        let conversion = try pass.shared { (_) throws(ImageCodecError) in ColorConversion(header, color) }
        finish(lanes, header, conversion, mayHaveAlpha: mayHaveAlpha, damage: damage)
    }

    /// libwebp's scaler averages areas, which suffices as long as the better filter still reduces the image: down to
    /// three times the target size.
    static func webPScale(of header: ImageHeader, for scaled: ResizePlan.Size) -> DecodingScale {
        let width = scaled.width * 3
        let height = scaled.height * 3
        guard header.description.fills_canvas, width <= header.width, height <= header.height, width < header.width
        else { return .whole }
        return .size(width: width, height: height)
    }
}
