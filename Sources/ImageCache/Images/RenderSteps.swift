import ConcurrencyPrimitives
import ImageCodec
import ImageEffects

/// The steps from decoded pixels to the content of an image, which are the same in this process and in a worker.
struct RenderSteps: Sendable {
    var processors: [ImageProcessor] = []
    var output = ImageRecipe.Output.pixels

    /// - Parameter header: The header of the original.
    func run(
        on decoded: DecodedImage, of header: ImageHeader, within budget: ImageBudget
    ) throws(ImageCodecError) -> RenderedContent {
        let image = try processors.process(decoded, within: budget)
        let processed = budget.spent
        var rendered = RenderedContent(content: .pixels(image), damage: image.damage)
        if output == .description {
            let description = try ImageDescription(header, image, within: budget)
            rendered.content = .encoded(description.json, .json, width: image.width, height: image.height)
        } else if let encoder = output.encoder(for: image, of: header.format) {
            rendered.content = .encoded(
                try encoder.encode(image, within: budget), encoder.format, width: image.width, height: image.height)
            rendered.encodeTime = budget.spent - processed
        }
        (rendered.decodeTime, rendered.processTime) = (budget.decoding, processed - budget.decoding)
        return rendered
    }

    /// Performs the steps of ``run(on:of:within:)`` on all frames of an original in order.
    func run(
        onFramesOf source: ImageSource, _ decoder: ImageDecoder, _ sizing: ImageSizing?, _ encoder: ImageEncoder,
        within budget: ImageBudget
    ) throws(ImageCodecError) -> RenderedContent {
        let reader = try decoder.frames(of: source, to: sizing, within: budget)
        let file = try encoder.encode(reader, within: budget) { (frame) throws(ImageCodecError) in
            try processors.process(frame, within: budget)
        }
        var rendered = RenderedContent(
            content: .encoded(file.bytes, encoder.format, width: file.width, height: file.height), damage: file.damage)
        // The time of effects is counted as encoding.
        (rendered.decodeTime, rendered.encodeTime) = (budget.decoding, budget.spent - budget.decoding)
        return rendered
    }
}

extension ImageRecipe {
    var steps: RenderSteps { RenderSteps(processors: processors, output: output) }
}

/// The content of an image, without a reference to its original.
struct RenderedContent: Sendable {
    var content: DerivedImage.Content
    /// The tolerated defect of the original.
    var damage: ImageCodecError?
    /// The CPU seconds of the steps.
    var decodeTime = 0.0
    var processTime = 0.0
    /// Nil if nothing was encoded.
    var encodeTime: Double?

    init(content: DerivedImage.Content, damage: ImageCodecError?) {
        self.content = content
        self.damage = damage
    }

    /// The steps with their CPU time, in order.
    var steps: [(RequestStep, Duration)] {
        let steps: [(RequestStep, Double?)] = [(.decode, decodeTime), (.process, processTime), (.encode, encodeTime)]
        return steps.compactMap { step, seconds in seconds.flatMap { $0 > 0 ? (step, .seconds($0)) : nil } }
    }
}
