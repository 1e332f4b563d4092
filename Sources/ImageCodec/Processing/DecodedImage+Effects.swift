internal import CImageCodec

extension DecodedImage {
    /// The image in grayscale: the luma of ITU-R BT.709.
    public func grayscaled(within budget: ImageBudget = .unlimited) throws(ImageCodecError) -> DecodedImage {
        try adjusted(saturation: 0, within: budget)
    }

    /// The image in black and white: a pixel is white if its luma (ITU-R BT.709) is 128 or more.
    package func bitonal(within budget: ImageBudget = .unlimited) throws(ImageCodecError) -> DecodedImage {
        try budget.check(memory: cost * 2)
        let same = (0...255).map { UInt8($0) }
        let threshold: [UInt8] = same.map { $0 < 128 ? 0 : 255 }
        let bitonal = try PixelBuffer(byteCount: cost)
        try budget.eachPart(width * height) { part in
            let start = part.lowerBound * 4
            icodec_adjust(pixels.bytes + start, bitonal.bytes + start, part.count, same, 0)
            icodec_adjust(bitonal.bytes + start, bitonal.bytes + start, part.count, threshold, 1)
        }
        return replacing(bitonal, width: width, height: height)
    }

    /// The image with other colours, as the CSS filter functions of these names make them. 1 changes nothing.
    ///
    /// - Parameters:
    ///   - brightness: A factor of red, green and blue.
    ///   - contrast: A factor of their difference from middle gray.
    ///   - saturation: A factor of their difference from the pixel's luma (ITU-R BT.709); 0 gives gray.
    /// - Throws: `invalidArgument` for a factor below 0 or above 100, `outOfMemory`, and the errors of `budget`.
    public func adjusted(
        brightness: Double = 1, contrast: Double = 1, saturation: Double = 1, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        for factor in [brightness, contrast, saturation] where !(0...100).contains(factor) {
            throw ImageCodecError(.invalidArgument, "a factor of \(factor)")
        }
        try budget.check(memory: cost * 2)
        let table = (0..<256).map { value in
            let bright = min(Double(value) * brightness, 255)
            return UInt8(min(max((bright - 127.5) * contrast + 127.5, 0), 255).rounded())
        }
        let adjusted = try PixelBuffer(byteCount: cost)
        try budget.eachPart(width * height) { part in
            icodec_adjust(
                pixels.bytes + part.lowerBound * 4, adjusted.bytes + part.lowerBound * 4, part.count, table,
                saturation)
        }
        return replacing(adjusted, width: width, height: height)
    }

    /// The image with sharper edges, by an unsharp mask with a blur of one pixel.
    ///
    /// - Parameter amount: How often the difference from the blurred image is added; 0 changes nothing.
    /// - Throws: `invalidArgument` for an amount below 0 or above 100, `outOfMemory`, and the errors of `budget`.
    public func sharpened(
        amount: Double, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        guard (0...100).contains(amount) else { throw ImageCodecError(.invalidArgument, "an amount of \(amount)") }
        guard amount > 0 else { return self }
        let soft = try blurred(sigma: 1, within: budget)
        try budget.check(memory: cost * 3)
        let sharp = try PixelBuffer(byteCount: cost)
        try budget.eachPart(width * height) { part in
            let start = part.lowerBound * 4
            icodec_sharpen(
                pixels.bytes + start, soft.pixels.bytes + start, sharp.bytes + start, part.count, amount)
        }
        return replacing(sharp, width: width, height: height)
    }

    /// The image with a Gaussian blur.
    ///
    /// - Parameter sigma: The standard deviation in pixels; 0 changes nothing.
    /// - Throws: `invalidArgument` for a sigma below 0 or above 1000, `outOfMemory`, and the errors of `budget`.
    public func blurred(
        sigma: Double, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        guard sigma >= 0, sigma <= 1000 else { throw ImageCodecError(.invalidArgument, "a blur of \(sigma) pixels") }
        guard sigma > 0 else { return self }
        try budget.check(memory: cost * Self.blurFactor)
        let soft = try PixelBuffer(byteCount: cost)
        try budget.measured { watch, error in
            icodec_blur(pixels.bytes, soft.bytes, UInt32(width), UInt32(height), sigma, &watch, &error)
        }
        return replacing(soft, width: width, height: height)
    }

    /// A blur holds the image before and after, and twice as floats.
    package static let blurFactor = 10
}
