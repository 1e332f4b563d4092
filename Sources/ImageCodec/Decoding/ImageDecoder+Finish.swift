internal import CImageCodec

extension ImageDecoder {
    /// The last steps: turn, choose the part by sight, put on a canvas.
    func finish(
        _ pixels: PixelBuffer, _ size: ResizePlan.Rectangle, _ plan: ResizePlan, _ orientation: ImageOrientation,
        mayHaveAlpha: Bool, background: ImageSizing.Color?, position: ImageSizing.Position?
    ) throws(ImageCodecError) -> DecodedImage {
        var image = DecodedImage(width: size.width, height: size.height, pixels: pixels, mayHaveAlpha: mayHaveAlpha)
        image = try image.oriented(orientation)
        return image
    }
}

extension DecodedImage {
    /// The image turned to be seen as an Exif orientation says.
    public func oriented(_ orientation: ImageOrientation) throws(ImageCodecError) -> DecodedImage {
        guard orientation != .up else { return self }
        let turned = try PixelBuffer(byteCount: cost)
        let columns = orientation.swapsSides ? height : width
        icodec_orient(
            pixels.bytes, bytesPerRow, UInt32(width), UInt32(height), Int32(orientation.rawValue), turned.bytes, columns * 4)
        return replacing(turned, width: columns, height: orientation.swapsSides ? width : height)
    }

    /// Other pixels with the same alpha, profile and metadata.
    func replacing(_ pixels: PixelBuffer, width: Int, height: Int) -> DecodedImage {
        var image = DecodedImage(width: width, height: height, pixels: pixels, mayHaveAlpha: !isOpaque)
        image.profile = profile
        image.exif = exif
        image.damage = damage
        return image
    }
}
