internal import CImageCodec

extension ImageDecoder {
    func decodeJPEG(_ source: icodec_source, _ sizing: ImageSizing?) throws(ImageCodecError) -> DecodedImage {
        let reader = try JPEGReader(source, limits: loweredLimits)
        let header = reader.header
        let plan = try plan(sizing, header, .jpeg)
        let eighths = Self.eighths(of: header.size, for: plan.scaled)
        let conversion = ColorConversion(header, color)
        let resizing = Resizing(jpeg: header, eighths: eighths, plan, linear: usesLinearLight, conversion)
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

    /// The smallest of libjpeg's fast scales that leaves enough for the filter to do. Decoding at 1/8 takes half the time of
    /// decoding in full; what is decoded at less than about twice the wanted size shows it. (3/8 and the like are slower than 4/8:
    /// libjpeg-turbo has no vector code for them.)
    static func eighths(of stored: ResizePlan.Size, for scaled: ResizePlan.Size) -> Int {
        [(1, 1.9), (2, 2.5), (4, 2.75)].first { eighths, surplus in
            Double(stored.width * eighths) / 8 >= Double(scaled.width) * surplus
                && Double(stored.height * eighths) / 8 >= Double(scaled.height) * surplus
        }?.0 ?? 8
    }

    /// At 1/8 a pixel is the mean of the 64 that it stands for; at 2/8 and 4/8 it is nearly the value in their middle.
    static func correction(_ eighths: Int) -> Double { eighths == 1 ? 1.0 / 24 : 0 }
}

extension Resizing {
    /// The resize of a JPEG that is decoded at a scale. libjpeg rounds sizes up; the filter counts with the exact ones.
    init(
        jpeg header: ImageHeader, eighths: Int, _ plan: StoredPlan, linear: Bool, _ conversion: ColorConversion
    ) {
        self.init(
            extent: (Double(header.width * eighths) / 8, Double(header.height * eighths) / 8),
            source: ResizePlan.Size(
                width: (header.width * eighths + 7) / 8, height: (header.height * eighths + 7) / 8),
            scaled: plan.scaled, window: plan.window, hasAlpha: false, linear: linear && !conversion.takesInk,
            correction: ImageDecoder.correction(eighths))
    }
}
