public import ImageCodec

extension ImageProcessor {
    /// Rotates and mirrors the image, as a viewer does with a stored image of this orientation.
    public static func orient(_ orientation: ImageOrientation) -> ImageProcessor {
        ImageProcessor(builtIn: OrientEffect(orientation: orientation))
    }
}

struct OrientEffect: BuiltInEffect {
    var orientation = ImageOrientation.up

    var identity: String { "orientation(\(orientation.rawValue))" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.oriented(orientation, within: budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        footprint.addCopies(1)
        if orientation.swapsSides { (footprint.width, footprint.height) = (footprint.height, footprint.width) }
    }

    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        var number = orientation.rawValue
        try coder.code(&number)
        guard let read = ImageOrientation(rawValue: number) else { throw WireCoder.Malformed() }
        orientation = read
    }
}
