internal import CImageCodec

extension ImageDecoder {
    func decodeJPEG(_ source: icodec_source, _ sizing: ImageSizing?) throws(ImageCodecError) -> DecodedImage {
        let reader = try JPEGReader(source, limits: loweredLimits)
        let header = reader.header
        let orientation = orientation(header)
        let plan = try plan(sizing, header.size(orientation), .jpeg)
        let (scaled, window) = plan.stored(orientation)
        let eighths = Self.eighths(of: header.size, for: scaled)
        let conversion = ColorConversion(header, color)
        let extent = (Double(header.width * eighths) / 8, Double(header.height * eighths) / 8)
        let decoded = ResizePlan.Size(
            width: (header.width * eighths + 7) / 8, height: (header.height * eighths + 7) / 8)
        let resizing = Resizing(
            extent: extent, source: decoded, scaled: scaled, window: window, hasAlpha: false,
            linear: usesLinearLight && !conversion.takesInk)
        let result = window.width * window.height * 4
        try limits.check(
            memory: result * (orientation == .up ? 1 : 2) + (resizing.isIdentity ? 0 : resizing.memory), format: .jpeg)
        let pixels = try PixelBuffer(byteCount: result)
        try reader.start(eighths: eighths, rawCMYK: conversion.takesInk)
        _ = try resizing.run(reader, into: pixels)
        conversion.apply(to: pixels)
        var image = try finish(
            pixels, window, plan, orientation, mayHaveAlpha: false, background: sizing?.background,
            position: sizing?.position)
        image.damage = reader.damage
        image.profile = conversion.keptProfile
        if keepsMetadata { image.exif = header.exif?.reset }
        return image
    }

    /// The smallest scale at which libjpeg still gives at least the wanted size. Decoding at 1/8 costs a quarter of decoding in
    /// full, and what is left of the shrinking keeps the quality of the filter.
    static func eighths(of stored: ResizePlan.Size, for scaled: ResizePlan.Size) -> Int {
        for eighths in 1..<8 where stored.width * eighths >= scaled.width * 8 * 1 {
            if stored.height * eighths >= scaled.height * 8 { return eighths }
        }
        return 8
    }
}
