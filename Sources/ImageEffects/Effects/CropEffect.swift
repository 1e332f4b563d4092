import ImageCodec

extension ImageProcessor {
    /// Crops the image, in pixels from the upper left corner. A part that exceeds the image is an error.
    public static func crop(x: Int, y: Int, width: Int, height: Int) -> ImageProcessor {
        ImageProcessor(builtIn: CropEffect(x: x, y: y, width: width, height: height))
    }
}

struct CropEffect: BuiltInEffect {
    var x = 0
    var y = 0
    var width = 0
    var height = 0

    var identity: String { "crop(\(x),\(y),\(width)x\(height))" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.cropped(x: x, y: y, width: width, height: height, within: budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        guard (1...footprint.width).contains(width), (1...footprint.height).contains(height) else { return }
        (footprint.width, footprint.height) = (width, height)
        footprint.memory = max(footprint.memory, footprint.area * 4)
    }

    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&x)
        try coder.code(&y)
        try coder.code(&width)
        try coder.code(&height)
    }
}
