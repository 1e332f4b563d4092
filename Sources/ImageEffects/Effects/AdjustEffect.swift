import ImageCodec

extension ImageProcessor {
    /// Changes the colours, as the CSS filter functions of these names do. A factor of 1 changes nothing.
    public static func adjust(
        brightness: Double = 1, contrast: Double = 1, saturation: Double = 1
    ) -> ImageProcessor {
        ImageProcessor(builtIn: AdjustEffect(brightness: brightness, contrast: contrast, saturation: saturation))
    }
}

struct AdjustEffect: BuiltInEffect {
    var brightness = 1.0
    var contrast = 1.0
    var saturation = 1.0

    var identity: String { "adjust(brightness=\(brightness),contrast=\(contrast),saturation=\(saturation))" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.adjusted(brightness: brightness, contrast: contrast, saturation: saturation, within: budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        footprint.addCopies(1)
    }

    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&brightness)
        try coder.code(&contrast)
        try coder.code(&saturation)
    }
}
