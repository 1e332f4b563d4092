internal import CImageCodec

extension ImageDecoder {
    /// Decodes a later frame of an animation: all frames of a GIF or WebP to it are composed on one canvas.
    func decodeFrame(of source: ImageSource, _ pass: DecodingPass) throws(ImageCodecError) {
        if let registered = try registeredDecoder(of: source) { throw noFrame(registered.format) }
        let format = try source.decoding(limits).format
        guard frame > 0, format == .gif || format == .webp || format == .avif else {
            throw noFrame(format)
        }
        guard frame < limits.frames else {
            throw ImageCodecError(
                .limitExceeded, format: format, "frame \(frame), of which \(limits.frames) are allowed")
        }
        if format == .avif { return try AVIFDecoding.decode(source, pass, by: self) }
        let frames = try pass.shared { (watch) throws(ImageCodecError) -> any FrameComposing in
            try composer(of: source, format, watch)
        }
        let header = frames.header.showing(frame: frame)
        let lanes = lanes(header, pass, hasAlpha: true, linear: usesLinearLight)
        guard !lanes.isEmpty else { return }
        let canvas = try pass.shared { (watch) throws(ImageCodecError) -> UnsafePointer<UInt8> in
            for _ in 0..<frame where try frames.next(&watch) == nil { throw noFrame(format) }
            guard let wanted = try frames.next(&watch) else { throw noFrame(format) }
            return wanted.canvas
        }
        RowFeed(lanes: lanes, pass: pass).run(canvas, header.size)
        let conversion = try pass.conversion(of: header, color)
        finish(lanes, header, conversion, mayHaveAlpha: true, damage: frames.damage)
    }

    func noFrame(_ format: ImageFormat) -> ImageCodecError {
        ImageCodecError(.invalidArgument, format: format, "there is no frame \(frame)")
    }
}
