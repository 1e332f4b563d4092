public import ImageCodec

extension ImageProcessor {
    /// Keeps the largest circle in the centre.
    public static var circle: ImageProcessor { ImageProcessor(builtIn: CircleEffect()) }
}

struct CircleEffect: BuiltInEffect {
    var identity: String { "circle" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.circled(within: budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        footprint.addCopies(2, withAlpha: true)
        let side = min(footprint.width, footprint.height)
        (footprint.width, footprint.height) = (side, side)
    }

    func code(by coder: inout WireCoder) {}
}

extension DecodedImage {
    /// The largest centred circle of the image, the rest of its square transparent.
    public func circled(within budget: ImageBudget = .unlimited) throws(ImageCodecError) -> DecodedImage {
        let side = min(width, height)
        let square = try cropped(
            x: (width - side) / 2, y: (height - side) / 2, width: side, height: side, within: budget)
        return try square.roundingCorners(radius: Double(side) / 2, within: budget)
    }
}
