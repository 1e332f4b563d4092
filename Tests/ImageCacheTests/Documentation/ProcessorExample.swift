// Sources/ImageCache/ImageCache.docc/Extending.md shows this file from the next line on; DocumentationTests compares the two.
import ImageCache

/// Puts a logo into the lower right corner.
struct Watermark: ImageProcessing {
    let logo: DecodedImage
    /// The logo's name and version.
    let name: String

    var identity: String { "watermark-1(\(name))" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        let (left, top) = (image.width - logo.width, image.height - logo.height)
        guard left >= 0, top >= 0 else { return image }
        try budget.check()
        return try DecodedImage(width: image.width, height: image.height) { pixels in
            image.withUnsafeBytes { pixels.copyMemory(from: $0) }
            for y in 0..<logo.height {
                for x in 0..<logo.width {
                    let (over, place) = (logo[x, y], ((top + y) * image.width + left + x) * 4)
                    let alpha = Int(over[3])
                    for channel in 0..<3 {
                        let under = Int(pixels[place + channel])
                        pixels[place + channel] = UInt8((Int(over[channel]) * alpha + under * (255 - alpha)) / 255)
                    }
                    pixels[place + 3] = max(pixels[place + 3], over[3])
                }
            }
        }
    }
}
