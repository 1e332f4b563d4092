internal import CImageCodec

extension ImageDecoder {
    func decodePNG(_ source: icodec_source, _ sizing: ImageSizing?) throws(ImageCodecError) -> DecodedImage {
        let reader = try PNGReader(source, limits: loweredLimits)
        let header = reader.header
        let plan = try plan(sizing, header, .png)
        let mayHaveAlpha = header.description.has_alpha || allowTruncated
        let resizing = Resizing(
            extent: (Double(header.width), Double(header.height)), source: header.size, scaled: plan.scaled,
            window: plan.window, hasAlpha: mayHaveAlpha, linear: usesLinearLight)
        let result = plan.window.width * plan.window.height * 4
        // An interlaced image comes in seven passes over all of it.
        let whole = reader.isInterlaced && !resizing.isIdentity ? header.width * header.height * 4 : 0
        try limits.check(
            memory: result * (plan.orientation == .up ? 1 : 2) + whole + (resizing.isIdentity ? 0 : resizing.memory),
            format: .png)
        let pixels = try PixelBuffer(byteCount: result)
        try reader.start()
        if !reader.isInterlaced {
            try resizing.run(reader, into: pixels)
        } else if resizing.isIdentity {
            try reader.readAll(into: pixels)
        } else {
            let all = try PixelBuffer(byteCount: whole)
            try reader.readAll(into: all)
            try resizing.run(all, into: pixels)
        }
        try reader.finish()
        let conversion = ColorConversion(header, color)
        conversion.apply(to: pixels)
        return try finish(
            pixels, plan, sizing, mayHaveAlpha: mayHaveAlpha, profile: conversion.keptProfile,
            exif: keepsMetadata ? header.exif : nil, damage: reader.damage)
    }
}
