// Sources/ImageCache/ImageCache.docc/Extending.md shows this file from the next line on; DocumentationTests compares the two.
import ImageCache

/// Writes binary portable pixmaps; transparency is lost.
struct PixmapEncoder: ImageEncoding {
    let format = ImageFormat.pixmap
    let identity = "pixmap-1"

    func encode(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> [UInt8] {
        try budget.check()
        return Array("P6\n\(image.width) \(image.height)\n255\n".utf8)
            + image.withUnsafeBytes { pixels in
                pixels.indices.filter { $0 % 4 != 3 }.map { pixels[$0] }
            }
    }
}
