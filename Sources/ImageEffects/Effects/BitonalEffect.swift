import ImageCodec

extension ImageProcessor {
    /// Makes each pixel black or white, by its luma (ITU-R BT.709).
    package static var bitonal: ImageProcessor { ImageProcessor(builtIn: BitonalEffect()) }
}

struct BitonalEffect: BuiltInEffect {
    var identity: String { "bitonal" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.bitonal(within: budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        footprint.addCopies(1)
    }

    func code(by coder: inout WireCoder) {}
}
