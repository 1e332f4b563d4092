extension DecodedImage {
    /// The image at another size, filtered by Lanczos-3 with alpha-weighted colours.
    ///
    /// ``ImageDecoder/decode(_:to:)`` does the same with less time and memory when the image comes from a file.
    ///
    /// - Parameters:
    ///   - sizing: the box, and how the image gets into it.
    ///   - usesLinearLight: Whether light is averaged instead of sRGB values.
    /// - Throws: `invalidArgument` for a box without sides, `outOfMemory`.
    public func resized(
        to sizing: ImageSizing, usesLinearLight: Bool = false
    ) throws(ImageCodecError) -> DecodedImage {
        let plan = try ResizePlan(sizing, of: ResizePlan.Size(width: width, height: height))
        return try resized(scaled: plan.scaled, window: plan.window, linear: usesLinearLight).completed(plan, sizing)
    }

    /// Scales the image and keeps a part of it.
    func resized(
        scaled: ResizePlan.Size, window: ResizePlan.Rectangle, linear: Bool
    ) throws(ImageCodecError) -> DecodedImage {
        let resizing = Resizing(
            extent: (Double(width), Double(height)), source: ResizePlan.Size(width: width, height: height),
            scaled: scaled, window: window, hasAlpha: !isOpaque, linear: linear)
        if resizing.isIdentity { return self }
        let pixels = try PixelBuffer(byteCount: window.width * window.height * 4)
        try resizing.run(self.pixels, into: pixels)
        return replacing(pixels, width: window.width, height: window.height)
    }
}
