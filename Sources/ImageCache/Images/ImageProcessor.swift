public import ImageCodec

/// An effect on the pixels of an image. Effects with the same identity are equal and share cached results.
public struct ImageProcessor: Sendable, Hashable {
    /// The name and parameters of the effect, which are part of the key of its results.
    public let identity: String
    /// False if the size of the result depends on the pixels.
    let hasOneSize: Bool
    /// The effect in a form that worker processes can apply; nil for effects of an application.
    private(set) var portable: PortableProcessor?
    private let change: @Sendable (DecodedImage, ImageBudget) throws(ImageCodecError) -> DecodedImage
    private let footprint: @Sendable (inout RenderingFootprint) -> Void

    /// An effect of an application.
    public init(_ processing: some ImageProcessing) {
        self.init(processing.identity, hasOneSize: processing.hasOneSize) { image, budget throws(ImageCodecError) in
            let changed = try budget.accounting { () throws(ImageCodecError) in
                try processing.process(image, within: budget)
            }
            try budget.check(changed)
            return changed
        } footprint: {
            $0.memory = max($0.memory, processing.memory(width: $0.width, height: $0.height))
            $0.mayHaveAlpha = true
        }
    }

    /// An effect of an application as a closure.
    ///
    /// - Parameters:
    ///   - identity: The name, version and parameters of the effect.
    ///   - change: Called on a decoding thread, which it may block.
    public init(
        identity: String, _ change: @escaping @Sendable (DecodedImage) throws(ImageCodecError) -> DecodedImage
    ) {
        self.init(ClosureProcessing(identity: identity, change: change))
    }

    /// An effect of this package.
    init(_ portable: PortableProcessor, _ processing: some ImageProcessing) {
        self.init(processing)
        self.portable = portable
    }

    private init(
        _ identity: String, hasOneSize: Bool = true, _ portable: PortableProcessor? = nil,
        _ change: @escaping @Sendable (DecodedImage, ImageBudget) throws(ImageCodecError) -> DecodedImage,
        footprint: @escaping @Sendable (inout RenderingFootprint) -> Void
    ) {
        self.identity = identity
        self.hasOneSize = hasOneSize
        self.portable = portable
        self.change = change
        self.footprint = footprint
    }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try change(image, budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        footprint.pixels += footprint.area
        self.footprint(&footprint)
    }

    public static func == (left: Self, right: Self) -> Bool { left.identity == right.identity }
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

extension [ImageProcessor] {
    /// Applies the effects in order.
    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        var image = image
        for processor in self { image = try processor.process(image, within: budget) }
        return image
    }
}

private struct ClosureProcessing: ImageProcessing {
    let identity: String
    let change: @Sendable (DecodedImage) throws(ImageCodecError) -> DecodedImage

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try change(image)
    }
}

extension ImageProcessor {
    /// Resizes the image.
    public static func resize(_ sizing: ImageSizing) -> ImageProcessor {
        ImageProcessor("resize(\(sizing.recipe))", .resize(sizing)) { image, budget throws(ImageCodecError) in
            try image.resized(to: sizing, within: budget)
        } footprint: { footprint in
            guard let size = try? sizing.result(width: footprint.width, height: footprint.height) else { return }
            footprint.memory = max(footprint.memory, size.memory)
            (footprint.width, footprint.height) = (size.width, size.height)
            footprint.pixels += footprint.area
            if sizing.fit == .contain { footprint.mayHaveAlpha = true }
        }
    }

    /// Crops the image, in pixels from the upper left corner. A part that exceeds the image is an error.
    public static func crop(x: Int, y: Int, width: Int, height: Int) -> ImageProcessor {
        ImageProcessor("crop(\(x),\(y),\(width)x\(height))", .crop(x: x, y: y, width: width, height: height)) {
            image, budget throws(ImageCodecError) in
            try image.cropped(x: x, y: y, width: width, height: height, within: budget)
        } footprint: { footprint in
            guard (1...footprint.width).contains(width), (1...footprint.height).contains(height) else { return }
            (footprint.width, footprint.height) = (width, height)
            footprint.memory = max(footprint.memory, footprint.area * 4)
        }
    }

    /// Crops the image to a part, as far as the image reaches.
    public static func region(_ region: ImageRegion) -> ImageProcessor {
        ImageProcessor("region(\(region.recipe))", .region(region)) { image, budget throws(ImageCodecError) in
            try image.cropped(to: region, within: budget)
        } footprint: { footprint in
            let (x, y) = region.bounds(width: footprint.width, height: footprint.height)
            (footprint.width, footprint.height) = (x.count, y.count)
            footprint.memory = max(footprint.memory, footprint.area * 4)
        }
    }

    /// Rotates and mirrors the image, as a viewer does with a stored image of this orientation.
    public static func orient(_ orientation: ImageOrientation) -> ImageProcessor {
        ImageProcessor("orientation(\(orientation.rawValue))", .orient(orientation)) {
            image, budget throws(ImageCodecError) in
            try image.oriented(orientation, within: budget)
        } footprint: { footprint in
            footprint.addCopies(1)
            if orientation.swapsSides {
                (footprint.width, footprint.height) = (footprint.height, footprint.width)
            }
        }
    }

    /// Changes the colours, as the CSS filter functions of these names do. A factor of 1 changes nothing.
    public static func adjust(
        brightness: Double = 1, contrast: Double = 1, saturation: Double = 1
    ) -> ImageProcessor {
        ImageProcessor(
            "adjust(brightness=\(brightness),contrast=\(contrast),saturation=\(saturation))",
            .adjust(brightness: brightness, contrast: contrast, saturation: saturation)
        ) { image, budget throws(ImageCodecError) in
            try image.adjusted(brightness: brightness, contrast: contrast, saturation: saturation, within: budget)
        } footprint: {
            $0.addCopies(1)
        }
    }

    /// Sharpens edges by an unsharp mask.
    ///
    /// - Parameter amount: How often the difference from a copy blurred by one pixel is added.
    public static func sharpen(amount: Double) -> ImageProcessor {
        ImageProcessor("sharpen(\(amount))", .sharpen(amount)) { image, budget throws(ImageCodecError) in
            try image.sharpened(amount: amount, within: budget)
        } footprint: { footprint in
            footprint.addCopies(DecodedImage.blurFactor)
            footprint.pixels += footprint.area * DecodedImage.blurFactor
        }
    }

    /// Adds a border on all sides.
    ///
    /// - Parameters:
    ///   - padding: The width of the border in pixels.
    ///   - color: The colour of the border and under transparent pixels; `nil`: transparent.
    public static func pad(by padding: Int, color: ImageSizing.Color? = nil) -> ImageProcessor {
        ImageProcessor("pad(\(padding),\(color?.recipe ?? "none"))", .pad(padding, color)) {
            image, budget throws(ImageCodecError) in
            try image.padded(by: padding, color: color, within: budget)
        } footprint: { footprint in
            footprint.width += max(0, min(padding, 32_767)) * 2
            footprint.height += max(0, min(padding, 32_767)) * 2
            footprint.addCopies(2, withAlpha: true)
        }
    }

    /// Puts the image on a colour, which is seen through transparent pixels.
    public static func background(_ color: ImageSizing.Color) -> ImageProcessor {
        ImageProcessor("background(\(color.recipe))", .background(color)) { image, budget throws(ImageCodecError) in
            try image.flattened(onto: color, within: budget)
        } footprint: {
            $0.addCopies(1)
        }
    }

    /// Makes the corners transparent.
    ///
    /// - Parameter radius: The radius in pixels of the image at this step.
    public static func roundedCorners(radius: Double) -> ImageProcessor {
        ImageProcessor("corners(\(radius))", .roundedCorners(radius)) { image, budget throws(ImageCodecError) in
            try image.roundingCorners(radius: radius, within: budget)
        } footprint: {
            $0.addCopies(1, withAlpha: true)
        }
    }

    /// Keeps the largest circle in the centre.
    public static var circle: ImageProcessor {
        ImageProcessor("circle", .circle) { image, budget throws(ImageCodecError) in
            try image.circled(within: budget)
        } footprint: {
            $0.addCopies(2, withAlpha: true)
        }
    }

    public static var grayscale: ImageProcessor {
        ImageProcessor("grayscale", .grayscale) { image, budget throws(ImageCodecError) in
            try image.grayscaled(within: budget)
        } footprint: {
            $0.addCopies(1)
        }
    }

    /// A Gaussian blur.
    ///
    /// - Parameter sigma: The standard deviation in pixels.
    public static func blur(sigma: Double) -> ImageProcessor {
        ImageProcessor("blur(\(sigma))", .blur(sigma)) { image, budget throws(ImageCodecError) in
            try image.blurred(sigma: sigma, within: budget)
        } footprint: { footprint in
            footprint.addCopies(DecodedImage.blurFactor)
            footprint.pixels += footprint.area * DecodedImage.blurFactor
        }
    }
}

extension RenderingFootprint {
    /// Adds a step that needs this number of further images of the same size.
    fileprivate mutating func addCopies(_ count: Int, withAlpha: Bool = false) {
        memory = max(memory, area * 4 * count)
        if withAlpha { mayHaveAlpha = true }
    }
}
