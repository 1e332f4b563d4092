internal import CImageCodec

extension DecodedImage {
    /// The image on a background colour, opaque.
    public func flattened(
        onto color: ImageSizing.Color, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        guard !isOpaque else { return self }
        try budget.check(memory: cost * 2)
        let flat = try PixelBuffer(byteCount: cost)
        try pixels.flatten(onto: color, into: flat, within: budget)
        return replacing(flat, width: width, height: height, mayHaveAlpha: false)
    }
}

extension PixelBuffer {
    /// Writes the pixels on a background colour to a buffer of the same size, which may be this one.
    func flatten(
        onto color: ImageSizing.Color, into target: PixelBuffer, within budget: ImageBudget
    ) throws(ImageCodecError) {
        try budget.eachPart(byteCount / 4) { part in
            icodec_flatten(
                bytes + part.lowerBound * 4, target.bytes + part.lowerBound * 4, part.count, color.red, color.green,
                color.blue)
        }
    }
}
