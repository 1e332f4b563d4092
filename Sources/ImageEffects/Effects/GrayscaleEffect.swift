import ImageCodec

extension ImageProcessor {
    /// Makes the image gray: the luma of ITU-R BT.709.
    public static var grayscale: ImageProcessor { ImageProcessor(builtIn: GrayscaleEffect()) }
}

struct GrayscaleEffect: BuiltInEffect {
    var identity: String { "grayscale" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.grayscaled(within: budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        footprint.addCopies(1)
    }

    func code(by coder: inout WireCoder) {}
}
