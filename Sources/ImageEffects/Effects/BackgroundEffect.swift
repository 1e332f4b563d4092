public import ImageCodec

extension ImageProcessor {
    /// Puts the image on a colour, which is seen through transparent pixels.
    public static func background(_ color: ImageSizing.Color) -> ImageProcessor {
        ImageProcessor(builtIn: BackgroundEffect(color: color))
    }
}

struct BackgroundEffect: BuiltInEffect {
    var color = ImageSizing.Color.white

    var identity: String { "background(\(color.recipe))" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.flattened(onto: color, within: budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        footprint.addCopies(1)
    }

    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&color)
    }
}
