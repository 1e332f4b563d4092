internal import CImageCodec

extension DecodedImage {
    /// The image rotated upright according to an Exif orientation.
    public func oriented(
        _ orientation: ImageOrientation, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        guard orientation != .up else { return self }
        try budget.check(memory: cost * 2)
        let turned = try PixelBuffer(byteCount: cost)
        let columns = orientation.swapsSides ? height : width
        try budget.measured { watch, error in
            icodec_orient(
                pixels.bytes, bytesPerRow, UInt32(width), UInt32(height), Int32(orientation.rawValue), turned.bytes,
                columns * 4, &watch, &error)
        }
        return replacing(turned, width: columns, height: orientation.swapsSides ? width : height)
    }

    /// Replaces the pixels and keeps profile and metadata.
    ///
    /// - Parameter mayHaveAlpha: True if some pixels may not be opaque; nil: as before.
    package func replacing(
        _ pixels: PixelBuffer, width: Int, height: Int, mayHaveAlpha: Bool? = nil
    ) -> DecodedImage {
        var image = DecodedImage(width: width, height: height, pixels: pixels, mayHaveAlpha: mayHaveAlpha ?? !isOpaque)
        image.profile = profile
        image.exif = exif
        image.damage = damage
        return image
    }
}
