public import ImageCodec

extension ImageProcessor {
    /// Resizes the image.
    public static func resize(_ sizing: ImageSizing) -> ImageProcessor {
        ImageProcessor(builtIn: ResizeEffect(sizing: sizing))
    }
}

struct ResizeEffect: BuiltInEffect {
    var sizing = ImageSizing()

    var identity: String { "resize(\(sizing.recipe))" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.resized(to: sizing, within: budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        guard let size = try? sizing.result(width: footprint.width, height: footprint.height) else { return }
        footprint.memory = max(footprint.memory, size.memory)
        (footprint.width, footprint.height) = (size.width, size.height)
        footprint.pixels += footprint.area
        if sizing.fit == .contain { footprint.mayHaveAlpha = true }
    }

    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&sizing)
    }
}
