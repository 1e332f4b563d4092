public import ImageCodec

extension ImageProcessor {
    /// Adds a border on all sides.
    ///
    /// - Parameters:
    ///   - padding: The width of the border in pixels.
    ///   - color: The colour of the border and under transparent pixels; `nil`: transparent.
    public static func pad(by padding: Int, color: ImageSizing.Color? = nil) -> ImageProcessor {
        ImageProcessor(builtIn: PadEffect(padding: padding, color: color))
    }
}

struct PadEffect: BuiltInEffect {
    var padding = 0
    var color: ImageSizing.Color?

    var identity: String { "pad(\(padding),\(color?.recipe ?? "none"))" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.padded(by: padding, color: color, within: budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        let area = footprint.area
        footprint.width += max(0, min(padding, 32_767)) * 2
        footprint.height += max(0, min(padding, 32_767)) * 2
        footprint.pixels += footprint.area - area
        footprint.addCopies(1, withAlpha: true)
    }

    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&padding)
        try coder.code(&color, from: .white)
    }
}
