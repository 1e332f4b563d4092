internal import CImageCodec

extension ImageDecoder {
    func decodeJPEG(_ source: icodec_source, _ sizing: ImageSizing?) throws(ImageCodecError) -> DecodedImage {
        let reader = try JPEGReader(source, limits: loweredLimits)
        let header = reader.header
        let plan = try plan(sizing, header, .jpeg)
        let eighths = Self.eighths(of: header.size, for: plan.scaled)
        let conversion = ColorConversion(header, color)
        let decoded = ResizePlan.Size(
            width: (header.width * eighths + 7) / 8, height: (header.height * eighths + 7) / 8)
        let resizing = Resizing(
            extent: (Double(header.width * eighths) / 8, Double(header.height * eighths) / 8), source: decoded,
            scaled: plan.scaled, window: plan.window, hasAlpha: false, linear: usesLinearLight && !conversion.takesInk)
        let result = plan.window.width * plan.window.height * 4
        try limits.check(
            memory: result * (plan.orientation == .up ? 1 : 2) + (resizing.isIdentity ? 0 : resizing.memory),
            format: .jpeg)
        let pixels = try PixelBuffer(byteCount: result)
        try reader.start(eighths: eighths, rawCMYK: conversion.takesInk)
        try resizing.run(reader, into: pixels)
        conversion.apply(to: pixels)
        return try finish(
            pixels, plan, sizing, mayHaveAlpha: false, profile: conversion.keptProfile,
            exif: keepsMetadata ? header.exif : nil, damage: reader.damage)
    }

    /// The smallest scale at which libjpeg still gives at least the wanted size. Decoding at 1/8 costs a quarter of decoding in
    /// full, and what is left of the shrinking keeps the quality of the filter.
    static func eighths(of stored: ResizePlan.Size, for scaled: ResizePlan.Size) -> Int {
        (1..<8).first { stored.width * $0 >= scaled.width * 8 && stored.height * $0 >= scaled.height * 8 } ?? 8
    }
}
