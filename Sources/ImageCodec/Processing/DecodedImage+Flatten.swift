internal import CImageCodec

extension DecodedImage {
    /// The image upon a colour, opaque.
    public func flattened(onto color: ImageSizing.Color) throws(ImageCodecError) -> DecodedImage {
        guard !isOpaque else { return self }
        let pixels = try PixelBuffer(byteCount: cost)
        icodec_flatten(self.pixels.bytes, pixels.bytes, width * height, color.red, color.green, color.blue)
        var image = DecodedImage(width: width, height: height, pixels: pixels, mayHaveAlpha: false)
        image.profile = profile
        image.exif = exif
        image.damage = damage
        return image
    }
}
