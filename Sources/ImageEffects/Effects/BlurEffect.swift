import ImageCodec

extension ImageProcessor {
    /// A Gaussian blur.
    ///
    /// - Parameter sigma: The standard deviation in pixels.
    public static func blur(sigma: Double) -> ImageProcessor { ImageProcessor(builtIn: BlurEffect(sigma: sigma)) }
}

struct BlurEffect: BuiltInEffect {
    var sigma = 0.0

    var identity: String { "blur(\(sigma))" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.blurred(sigma: sigma, within: budget)
    }

    func add(to footprint: inout RenderingFootprint) { footprint.addBlur() }

    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&sigma)
    }
}
