public import ImageCodec

extension ImageProcessor {
    /// Crops the image to a part, as far as the image reaches.
    public static func region(_ region: ImageRegion) -> ImageProcessor {
        ImageProcessor(builtIn: RegionEffect(region: region))
    }
}

struct RegionEffect: BuiltInEffect {
    var region = ImageRegion.shares(x: 0, y: 0, width: 1, height: 1)

    var identity: String { "region(\(region.recipe))" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.cropped(to: region, within: budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        let (x, y) = region.bounds(width: footprint.width, height: footprint.height)
        (footprint.width, footprint.height) = (x.count, y.count)
        footprint.memory = max(footprint.memory, footprint.area * 4)
    }

    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&region)
    }
}
