// Sources/ImageCache/ImageCache.docc/Extending.md shows this file from the next line on; DocumentationTests compares the two.
import ImageCache

extension ImageFormat {
    static let pixmap = ImageFormat(name: "PPM", mediaType: "image/x-portable-pixmap")
}

/// Reads binary portable pixmaps of 8 bits ("P6"): a text header with width, height and 255, then red, green and blue of each pixel.
struct PixmapDecoder: ImageDecoding {
    let format = ImageFormat.pixmap
    let identity = "pixmap-1"

    func canDecode(_ start: [UInt8]) -> Bool { start.starts(with: "P6\n".utf8) }

    func header(of source: ImageSource) throws(ImageCodecError) -> DecodingHeader {
        let (width, height, _) = try layout(of: source.prefix(64))
        var header = DecodingHeader(width: width, height: height)
        header.mayHaveAlpha = false
        return header
    }

    func decode(_ source: ImageSource, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        let bytes = try source.all()
        let (width, height, start) = try layout(of: bytes)
        guard bytes.count >= start + width * height * 3 else {
            throw ImageCodecError(.truncated, format: format, "the pixels end early")
        }
        try budget.check()
        return try DecodedImage(width: width, height: height) { pixels in
            for pixel in 0..<width * height {
                for channel in 0..<3 { pixels[pixel * 4 + channel] = bytes[start + pixel * 3 + channel] }
                pixels[pixel * 4 + 3] = 255
            }
        }
    }

    /// The size, and the place of the first pixel.
    private func layout(of bytes: [UInt8]) throws(ImageCodecError) -> (width: Int, height: Int, start: Int) {
        let fields = bytes.prefix(64).split(maxSplits: 4) { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: " ") }
        let numbers = fields.dropFirst().prefix(3).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        guard fields.count == 5, numbers.count == 3, numbers[2] == 255 else {
            throw ImageCodecError(.corrupt, format: format, "no header of a pixmap of 8 bits")
        }
        return (numbers[0], numbers[1], fields[4].startIndex)
    }
}
