import ImageCodec

extension ImageProcessor {
    /// Sharpens edges by an unsharp mask.
    ///
    /// - Parameter amount: How often the difference from a copy blurred by one pixel is added.
    public static func sharpen(amount: Double) -> ImageProcessor {
        ImageProcessor(builtIn: SharpenEffect(amount: amount))
    }
}

struct SharpenEffect: BuiltInEffect {
    var amount = 0.0

    var identity: String { "sharpen(\(amount))" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.sharpened(amount: amount, within: budget)
    }

    func add(to footprint: inout RenderingFootprint) { footprint.addBlur() }

    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&amount)
    }
}
