internal import CImageCodec

extension DecodedImage {
    /// The image on a background colour, opaque.
    public func flattened(
        onto color: ImageSizing.Color, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        guard !isOpaque else { return self }
        try budget.check(memory: cost * 2)
        let pixels = try PixelBuffer(byteCount: cost)
        try budget.eachPart(width * height) { part in
            icodec_flatten(
                self.pixels.bytes + part.lowerBound * 4, pixels.bytes + part.lowerBound * 4, part.count, color.red,
                color.green, color.blue)
        }
        return replacing(pixels, width: width, height: height, mayHaveAlpha: false)
    }
}
