import ImageCodec

extension ImageProcessor {
    /// Draws a watermark over the image.
    public static func watermark(_ mark: ImageWatermark) -> ImageProcessor {
        ImageProcessor(builtIn: WatermarkEffect(mark: mark))
    }
}

struct WatermarkEffect: BuiltInEffect {
    /// Nil until one is read.
    var mark: ImageWatermark?

    var identity: String { mark?.identity ?? "watermark" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        guard let mark else { return image }
        guard mark.scale.isFinite else {
            throw ImageCodecError(.invalidArgument, "the scale of a watermark is no number")
        }
        let width = max(1, Int((Double(image.width) * min(max(mark.scale, 0), 1)).rounded()))
        var sizing = ImageSizing.fit(width, image.height)
        sizing.allowsEnlargement = true
        let resized = try mark.image.resized(to: sizing, within: budget)
        let place = mark.position.shares
        return try image.overlaid(
            with: resized, x: Int((Double(image.width - resized.width) * place.x).rounded()),
            y: Int((Double(image.height - resized.height) * place.y).rounded()), opacity: mark.opacity, within: budget)
    }

    func memory(width: Int, height: Int) -> Int { width * height * 12 + (mark?.image.cost ?? 0) }

    /// The pixels of the mark are copied, because they are small compared to the images.
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        var mark: ImageWatermark
        if let own = self.mark {
            mark = own
            try own.image.copy(by: &coder)
        } else {
            mark = ImageWatermark(try DecodedImage(from: &coder, nil))
        }
        try coder.code(&mark.position)
        try coder.code(&mark.scale)
        try coder.code(&mark.opacity)
        self.mark = mark
    }
}
