internal import CImageCodec

extension ImageDecoder {
    func decodeWebP(_ source: ImageSource, _ sizing: ImageSizing?) throws(ImageCodecError) -> DecodedImage {
        // libwebp wants all bytes at once.
        try source.all().withUnsafeBufferPointer { (bytes) throws(ImageCodecError) -> DecodedImage in
            try decodeWebP(WebPReader(bytes, limits: loweredLimits), sizing)
        }
    }

    private func decodeWebP(_ reader: WebPReader, _ sizing: ImageSizing?) throws(ImageCodecError) -> DecodedImage {
        let header = reader.header
        let plan = try plan(sizing, header, .webp)
        let decoded = Self.size(decoding: reader, for: plan.scaled)
        let mayHaveAlpha = header.description.has_alpha || allowTruncated
        let resizing = Resizing(
            extent: (Double(decoded.width), Double(decoded.height)), source: decoded, scaled: plan.scaled,
            window: plan.window, hasAlpha: mayHaveAlpha, linear: usesLinearLight)
        let result = plan.window.width * plan.window.height * 4
        let whole = decoded.width * decoded.height * 4
        try limits.check(
            memory: result * (plan.orientation == .up ? 1 : 2) + reader.memory
                + (resizing.isIdentity ? 0 : whole + resizing.memory),
            format: .webp)
        let pixels = try PixelBuffer(byteCount: result)
        let damage: ImageCodecError?
        if resizing.isIdentity {
            damage = try reader.decode(into: pixels, size: decoded)
        } else {
            let all = try PixelBuffer(byteCount: whole)
            damage = try reader.decode(into: all, size: decoded)
            try resizing.run(all, into: pixels)
        }
        let conversion = ColorConversion(header, color)
        conversion.apply(to: pixels)
        return try finish(
            pixels, plan, sizing, mayHaveAlpha: mayHaveAlpha, profile: conversion.keptProfile,
            exif: keepsMetadata ? header.exif : nil, damage: damage)
    }

    /// libwebp's scaler averages areas, which is well as long as the better filter still has something to do: to three times the
    /// size that is wanted.
    private static func size(decoding reader: WebPReader, for scaled: ResizePlan.Size) -> ResizePlan.Size {
        let stored = reader.header.size
        let width = scaled.width * 3
        let height = scaled.height * 3
        guard reader.fillsCanvas, width <= stored.width, height <= stored.height, width < stored.width else {
            return stored
        }
        return ResizePlan.Size(width: width, height: height)
    }
}
