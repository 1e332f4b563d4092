public import ImageCodec

extension DecodedImage {
    /// The colour around which most pixels lie, weighted by their opacity; nil: no pixel is visible.
    ///
    /// The mean of the colours in the fullest neighbourhood of a histogram with 16 levels a channel.
    ///
    /// - Throws: `outOfMemory`.
    public var dominantColor: ImageSizing.Color? {
        get throws(ImageCodecError) { try dominantColor(within: .unlimited) }
    }

    /// The dominant colour, within a budget.
    public func dominantColor(within budget: ImageBudget) throws(ImageCodecError) -> ImageSizing.Color? {
        let sample = try placeholderSample(within: budget)
        return sample.withUnsafeBytes { ColorHistogram($0).mean }
    }
}

/// Pixels by their colours, 16 levels a channel.
private struct ColorHistogram {
    /// Red, green, blue and the weight.
    private var bins = [SIMD4<Int>](repeating: .zero, count: 1 << 12)

    init(_ pixels: UnsafeRawBufferPointer) {
        for pixel in stride(from: 0, to: pixels.count, by: 4) {
            let (red, green, blue) = (Int(pixels[pixel]), Int(pixels[pixel + 1]), Int(pixels[pixel + 2]))
            let alpha = Int(pixels[pixel + 3])
            bins[(red >> 4) << 8 | (green >> 4) << 4 | blue >> 4] &+=
                SIMD4(red, green, blue, 1) &* SIMD4(repeating: alpha)
        }
    }

    /// The mean colour of the fullest bin and its neighbours.
    var mean: ImageSizing.Color? {
        var best = SIMD4<Int>.zero
        for index in bins.indices where bins[index].w > 0 {
            let sum = neighbourhood(of: index)
            if sum.w > best.w { best = sum }
        }
        guard best.w > 0 else { return nil }
        func level(_ sum: Int) -> UInt8 { UInt8(clamping: (sum + best.w / 2) / best.w) }
        return ImageSizing.Color(red: level(best.x), green: level(best.y), blue: level(best.z))
    }

    private func neighbourhood(of index: Int) -> SIMD4<Int> {
        var sum = SIMD4<Int>.zero
        func around(_ level: Int) -> ClosedRange<Int> { max(0, level - 1)...min(15, level + 1) }
        for red in around(index >> 8) {
            for green in around((index >> 4) & 15) {
                for blue in around(index & 15) { sum &+= bins[red << 8 | green << 4 | blue] }
            }
        }
        return sum
    }
}
