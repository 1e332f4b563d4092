internal import CImageCodec
internal import Glibc

extension DecodedImage {
    /// A part of the image, counted in pixels from the upper left.
    ///
    /// - Throws: `invalidArgument` when the part is empty or not all within the image, `outOfMemory`.
    public func cropped(x: Int, y: Int, width: Int, height: Int) throws(ImageCodecError) -> DecodedImage {
        guard x >= 0, y >= 0, width > 0, height > 0, x <= self.width - width, y <= self.height - height else {
            throw ImageCodecError(
                .invalidArgument,
                "a part of \(width) x \(height) at \(x), \(y) of an image of \(self.width) x \(self.height)")
        }
        if width == self.width, height == self.height { return self }
        let part = try PixelBuffer(byteCount: width * height * 4)
        for row in 0..<height {
            memcpy(part.bytes + row * width * 4, pixels.bytes + (y + row) * bytesPerRow + x * 4, width * 4)
        }
        return replacing(part, width: width, height: height)
    }

    /// The image on a larger one, its upper left at x, y; what it leaves free is transparent or of a colour, upon which the image
    /// is put too.
    func placed(
        on size: ResizePlan.Size, x: Int, y: Int, background: ImageSizing.Color?
    ) throws(ImageCodecError) -> DecodedImage {
        let canvas = try PixelBuffer(byteCount: size.width * size.height * 4)
        for row in 0..<height {
            memcpy(canvas.bytes + ((y + row) * size.width + x) * 4, pixels.bytes + row * bytesPerRow, bytesPerRow)
        }
        let image = replacing(canvas, width: size.width, height: size.height, mayHaveAlpha: true)
        return try background.map { (color) throws(ImageCodecError) in try image.flattened(onto: color) } ?? image
    }

    /// What a plan still asks for once the image is scaled and upright.
    func completed(_ plan: ResizePlan, _ sizing: ImageSizing?) throws(ImageCodecError) -> DecodedImage {
        if let cut = plan.cut, let position = sizing?.position {
            let (x, y) = SightCrop(self, cut, position).place
            return try cropped(x: x, y: y, width: cut.width, height: cut.height)
        }
        if let canvas = plan.canvas {
            return try placed(on: canvas.size, x: canvas.x, y: canvas.y, background: sizing?.background)
        }
        return self
    }
}
