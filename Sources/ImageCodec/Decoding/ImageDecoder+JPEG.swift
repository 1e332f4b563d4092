internal import CImageCodec

enum JPEGDecoding: FormatDecoding {
    static func header(of source: ImageSource, limits: icodec_limits) throws(ImageCodecError) -> ImageHeader {
        try source.lend { (lent) throws(ImageCodecError) in try JPEGReader(lent, limits: limits).header }
    }

    static func scale(of header: ImageHeader, for size: ResizePlan.Size) -> DecodingScale {
        .eighths(ImageDecoder.eighths(of: header.size, for: size))
    }

    static func memory(of header: ImageHeader, at scale: DecodingScale) -> Int {
        let description = header.description
        guard scale == .eighths(1) else { return Int(clamping: description.coefficients) }
        let isQuick = !description.interlaced && header.fileSize >= EighthScaleDecoder.smallestFile
        return Int(clamping: description.coarse_coefficients)
            + (isQuick ? EighthScaleDecoder.memory(width: header.width, height: header.height) : 0)
    }

    static func decode(_ source: ImageSource, _ pass: DecodingPass, by decoder: ImageDecoder) throws(ImageCodecError) {
        try source.lend { (lent) throws(ImageCodecError) in try decoder.decodeJPEG(lent, pass) }
    }
}

extension ImageDecoder {
    fileprivate func decodeJPEG(_ source: icodec_source, _ pass: DecodingPass) throws(ImageCodecError) {
        let reader = try pass.shared { (watch) throws(ImageCodecError) in
            try JPEGReader(source, limits: limits.lowered(allowTruncated: allowTruncated, watch))
        }
        let header = reader.header
        let conversion = try pass.conversion(of: header, color)
        let lanes = lanes(header, pass, hasAlpha: false, linear: usesLinearLight && !conversion.keepsCMYK)
        guard case .eighths(let eighths) = lanes.first?.target.scale else { return }
        if eighths == 1, let quick = try quickReader(reader, pass) {
            try RowFeed(lanes: lanes, pass: pass).run(quick)
            pass.collector?.finish(header, .eighths(1), ResizePlan.Size(width: quick.width, height: quick.height))
            return finish(lanes, header, conversion, mayHaveAlpha: false, damage: nil)
        }
        try pass.shared { (watch) throws(ImageCodecError) in
            try reader.start(eighths: eighths, rawCMYK: conversion.keepsCMYK, &watch)
        }
        try RowFeed(lanes: lanes, pass: pass).run(reader)
        try pass.shared { (watch) throws(ImageCodecError) in try reader.finish(&watch) }
        if reader.damage == nil, DecodedRows.cost(of: header, at: .eighths(eighths)) != nil {
            let size = ResizePlan.Size(width: reader.width, height: reader.height)
            pass.collector?.finish(header, .eighths(eighths), size)
        }
        finish(lanes, header, conversion, mayHaveAlpha: false, damage: reader.damage)
    }

    /// Decodes the rows of a large baseline file at 1/8 of its size, or returns nil if libjpeg must decode them.
    private func quickReader(_ reader: JPEGReader, _ pass: DecodingPass) throws(ImageCodecError) -> EighthScaleReader? {
        guard reader.header.fileSize >= EighthScaleDecoder.smallestFile, let scan = reader.scan,
            var decoder = EighthScaleDecoder(scan)
        else { return nil }
        let isComplete = try pass.shared { (watch) throws(ImageCodecError) in try decoder.run(reader, &watch) }
        return isComplete ? EighthScaleReader(decoder) : nil
    }

    /// The smallest of libjpeg's fast scales that leaves enough detail for the filter. (3/8 and the like are slower than
    /// 4/8: libjpeg-turbo has no vector code for them.)
    ///
    /// Measured by SSIMULACRA2 against the filter over the whole picture, on photos whose single pixels have detail: with
    /// twice the target size 92 at 1/8, 93 to 95 at 2/8; with one and a half times 93.5 at 4/8. Less is visible: with 1.25
    /// times 85 at 1/8, below 92 at 4/8. Large photos seldom have such detail, and 1/8 saves most time with them.
    static func eighths(of stored: ResizePlan.Size, for scaled: ResizePlan.Size) -> Int {
        let isLarge = stored.width * stored.height >= 8_000_000
        return [(1, isLarge ? 1.9 : 2.1), (2, 2), (4, 1.5)].first { eighths, surplus in
            Double(stored.width * eighths) / 8 >= Double(scaled.width) * surplus
                && Double(stored.height * eighths) / 8 >= Double(scaled.height) * surplus
        }?.0 ?? 8
    }

    /// At 1/8 a pixel is the mean of the 64 pixels that it replaces. At 2/8 and 4/8 it is close to the value at their centre.
    static func correction(_ eighths: Int) -> Double { eighths == 1 ? 1.0 / 24 : 0 }
}
