public import ImageCodec

/// An effect on the pixels of an image. Effects with the same identity are equal and share cached results.
public struct ImageProcessor: Sendable, Hashable {
    private enum Effect: Sendable {
        case builtIn(any BuiltInEffect)
        case application(any ImageProcessing)
    }

    /// The name and parameters of the effect, which are part of the key of its results.
    public let identity: String
    private let effect: Effect

    /// An effect of an application.
    public init(_ processing: some ImageProcessing) {
        identity = processing.identity
        effect = .application(processing)
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

    init(builtIn effect: any BuiltInEffect) {
        identity = effect.identity
        self.effect = .builtIn(effect)
    }

    /// True if worker processes can apply the effect, which is not the case for an application's.
    package var isBuiltIn: Bool { if case .builtIn = effect { true } else { false } }

    private var processing: any ImageProcessing {
        switch effect {
        case .builtIn(let effect): effect
        case .application(let effect): effect
        }
    }

    /// False if the size of the result depends on the pixels.
    package var hasOneSize: Bool { processing.hasOneSize }

    /// Applies the effect.
    ///
    /// - Throws: The errors of the effect, and of `budget` for its time and for the size of its result.
    package func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        let processing = processing
        let changed = try budget.accounting { () throws(ImageCodecError) in
            try processing.process(image, within: budget)
        }
        try budget.check(changed)
        return changed
    }

    /// Adds the memory and the work of the effect, and changes the size to that of its result.
    package func add(to footprint: inout RenderingFootprint) {
        footprint.pixels += footprint.area
        switch effect {
        case .builtIn(let effect): effect.add(to: &footprint)
        case .application(let effect): footprint.addStep(effect)
        }
    }

    public static func == (left: Self, right: Self) -> Bool { left.identity == right.identity }
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

extension [ImageProcessor] {
    /// Applies the effects in order.
    package func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
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

extension ImageProcessor: WireCodable {
    /// - Throws: `Malformed` also for an effect of an application, which cannot be sent.
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        guard coder.isReading else {
            guard case .builtIn(var sent) = effect,
                let number = builtInEffects.firstIndex(where: { $0 == type(of: sent) })
            else { throw WireCoder.Malformed() }
            _ = try coder.code(case: number)
            return try sent.code(by: &coder)
        }
        let number = try coder.code(case: 0)
        guard builtInEffects.indices.contains(number) else { throw WireCoder.Malformed() }
        var read = builtInEffects[number].init()
        try read.code(by: &coder)
        self = ImageProcessor(builtIn: read)
    }
}
