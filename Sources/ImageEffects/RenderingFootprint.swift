import ImageCodec

/// The memory and work of rendering steps for an image of a size, and the size of the result.
package struct RenderingFootprint {
    package var width: Int
    package var height: Int
    /// The peak memory in bytes, without the input of the step.
    package var memory = 0
    /// The amount of work: the number of written pixels.
    package var pixels = 0
    package var mayHaveAlpha: Bool

    package init(width: Int, height: Int, mayHaveAlpha: Bool) {
        (self.width, self.height) = (width, height)
        self.mayHaveAlpha = mayHaveAlpha
    }

    package var area: Int { width * height }

    /// Adds a step that needs this number of further images of the same size.
    mutating func addCopies(_ count: Int, withAlpha: Bool = false) {
        memory = max(memory, area * 4 * count)
        if withAlpha { mayHaveAlpha = true }
    }

    /// Adds a blur of all pixels.
    mutating func addBlur() {
        addCopies(DecodedImage.blurFactor)
        pixels += area * DecodedImage.blurFactor
    }

    /// Adds an effect whose result has the size of its input.
    mutating func addStep(_ effect: some ImageProcessing) {
        memory = max(memory, DecodingLimits.bounded(memory: effect.memory(width: width, height: height)))
        mayHaveAlpha = true
    }
}
