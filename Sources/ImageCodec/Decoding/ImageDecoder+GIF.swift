internal import CImageCodec

/// The first frame of a GIF, composed on the canvas as browsers do.
enum GIFDecoding: FormatDecoding {
    static func header(of source: ImageSource, limits: icodec_limits) throws(ImageCodecError) -> ImageHeader {
        try source.lend { (lent) throws(ImageCodecError) in
            let reader = try GIFReader(lent, limits: limits)
            try reader.countFrames()
            return reader.header
        }
    }

    static func scale(of header: ImageHeader, for size: ResizePlan.Size) -> DecodingScale { .whole }

    /// The indices of an interlaced frame.
    static func memory(of header: ImageHeader, at scale: DecodingScale) -> Int {
        header.description.interlaced ? header.width * header.height : 0
    }

    static func decode(_ source: ImageSource, _ pass: DecodingPass, by decoder: ImageDecoder) throws(ImageCodecError) {
        try source.lend { (lent) throws(ImageCodecError) in try decoder.decodeGIF(lent, pass) }
    }
}

extension ImageDecoder {
    fileprivate func decodeGIF(_ source: icodec_source, _ pass: DecodingPass) throws(ImageCodecError) {
        let reader = try pass.shared { (watch) throws(ImageCodecError) in
            try GIFReader(source, limits: limits.lowered(allowTruncated: allowTruncated, watch))
        }
        let mayHaveAlpha = reader.header.description.has_alpha || allowTruncated
        let lanes = lanes(reader.header, pass, hasAlpha: mayHaveAlpha, linear: usesLinearLight)
        guard !lanes.isEmpty else { return }
        try RowFeed(lanes: lanes, pass: pass).run(reader)
        let conversion = try pass.conversion(of: reader.header, color)
        finish(lanes, reader.header, conversion, mayHaveAlpha: mayHaveAlpha, damage: reader.damage)
    }
}
