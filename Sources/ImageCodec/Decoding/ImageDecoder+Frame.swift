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
        if format == .avif {
            try AVIFDecoding.decode(source, pass, by: self)
        } else if format == .gif {
            try source.lend { (lent) throws(ImageCodecError) in
                let reader = try pass.shared { (watch) throws(ImageCodecError) in
                    try GIFReader(lent, limits: limits.lowered(allowTruncated: allowTruncated, watch))
                }
                try finishFrame(reader.header, pass) { (canvas, watch) throws(ImageCodecError) in
                    try reader.compose(frame, on: canvas, &watch)
                }
            }
        } else {
            try source.all().withUnsafeBufferPointer { (bytes) throws(ImageCodecError) in
                let reader = try pass.shared { (watch) throws(ImageCodecError) in
                    try WebPReader(bytes, limits: limits.lowered(allowTruncated: allowTruncated, watch))
                }
                try finishFrame(reader.header, pass) { (canvas, watch) throws(ImageCodecError) in
                    try WebPReader.compose(bytes, frame, on: canvas, &watch)
                }
            }
        }
    }

    func noFrame(_ format: ImageFormat) -> ImageCodecError {
        ImageCodecError(.invalidArgument, format: format, "there is no frame \(frame)")
    }

    /// - Parameter compose: Draws the frame; false: there is none.
    private func finishFrame(
        _ first: ImageHeader, _ pass: DecodingPass,
        compose: (PixelBuffer, inout icodec_watch) throws(ImageCodecError) -> Bool
    ) throws(ImageCodecError) {
        let header = first.showing(frame: frame)
        let lanes = lanes(header, pass, hasAlpha: true, linear: usesLinearLight)
        guard !lanes.isEmpty else { return }
        let canvas = try PixelBuffer(byteCount: header.width * header.height * 4)
        let isThere = try pass.shared { (watch) throws(ImageCodecError) in try compose(canvas, &watch) }
        guard isThere else { throw noFrame(header.format) }
        RowFeed(lanes: lanes, pass: pass).run(canvas, header.size)
        let conversion = try pass.shared { (_) throws(ImageCodecError) in ColorConversion(header, color) }
        finish(lanes, header, conversion, mayHaveAlpha: true, damage: nil)
    }
}

extension GIFReader {
    /// Draws all frames to the wanted one on a canvas of zeros. False if there are fewer.
    fileprivate func compose(
        _ wanted: Int, on canvas: PixelBuffer, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Bool {
        var error = icodec_error()
        var isThere = false
        icodec_gif_set_watch(gif, &watch)
        guard icodec_gif_compose(gif, UInt32(clamping: wanted), canvas.bytes, &isThere, &error) else {
            throw ImageCodecError(error, format: .gif)
        }
        return isThere
    }
}

extension WebPReader {
    /// Draws all frames of a file to the wanted one. False if there are fewer.
    fileprivate static func compose(
        _ bytes: UnsafeBufferPointer<UInt8>, _ wanted: Int, on canvas: PixelBuffer, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Bool {
        var error = icodec_error()
        var isThere = false
        guard
            icodec_webp_compose(
                bytes.baseAddress, bytes.count, UInt32(clamping: wanted), &watch, canvas.bytes, canvas.byteCount,
                &isThere, &error)
        else { throw ImageCodecError(error, format: .webp) }
        return isThere
    }
}
