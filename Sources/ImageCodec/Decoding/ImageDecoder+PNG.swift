internal import CImageCodec

enum PNGDecoding: FormatDecoding {
    static func header(of source: ImageSource, limits: icodec_limits) throws(ImageCodecError) -> ImageHeader {
        try source.lend { (lent) throws(ImageCodecError) in try PNGReader(lent, limits: limits).header }
    }

    static func scale(of header: ImageHeader, for size: ResizePlan.Size) -> DecodingScale { .whole }

    static func memory(of header: ImageHeader, at scale: DecodingScale) -> Int {
        header.description.interlaced ? header.width * header.height * 4 : 0
    }

    static func decode(_ source: ImageSource, _ pass: DecodingPass, by decoder: ImageDecoder) throws(ImageCodecError) {
        try source.lend { (lent) throws(ImageCodecError) in try decoder.decodePNG(lent, pass) }
    }
}

extension ImageDecoder {
    fileprivate func decodePNG(_ source: icodec_source, _ pass: DecodingPass) throws(ImageCodecError) {
        let reader = try pass.shared { (watch) throws(ImageCodecError) in
            try PNGReader(source, limits: limits.lowered(allowTruncated: allowTruncated, watch))
        }
        let header = reader.header
        let mayHaveAlpha = header.description.has_alpha || allowTruncated
        let lanes = lanes(header, pass, hasAlpha: mayHaveAlpha, linear: usesLinearLight)
        guard let first = lanes.first else { return }
        try pass.shared { (watch) throws(ImageCodecError) in try reader.start(&watch) }
        let feed = RowFeed(lanes: lanes, pass: pass)
        if !reader.isInterlaced {
            try feed.run(reader)
        } else {
            // An interlaced image arrives in seven passes over all of it.
            let isDirect = lanes.count == 1 && first.resizer.resizing.isIdentity
            let all = isDirect ? first.resizer.pixels : try PixelBuffer(byteCount: header.width * header.height * 4)
            try pass.shared { (watch) throws(ImageCodecError) in try reader.readAll(into: all, &watch) }
            if !isDirect { feed.run(all.bytes, header.size) }
        }
        try pass.shared { (watch) throws(ImageCodecError) in try reader.finish(&watch) }
        let conversion = try pass.conversion(of: header, color)
        finish(lanes, header, conversion, mayHaveAlpha: mayHaveAlpha, damage: reader.damage)
    }
}
