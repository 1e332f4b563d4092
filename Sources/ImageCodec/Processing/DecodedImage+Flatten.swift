internal import CImageCodec

extension DecodedImage {
    /// The image upon a colour, opaque.
    public func flattened(onto color: ImageSizing.Color) throws(ImageCodecError) -> DecodedImage {
        guard !isOpaque else { return self }
        let pixels = try PixelBuffer(byteCount: cost)
        icodec_flatten(self.pixels.bytes, pixels.bytes, width * height, color.red, color.green, color.blue)
        return replacing(pixels, width: width, height: height, mayHaveAlpha: false)
    }
}
