import FoundationEssentials
import ImageCache

enum Base64 {
    static func encoded(_ bytes: [UInt8]) -> [UInt8] { Array(Data(bytes).base64EncodedData()) }
}

/// An image as upper half blocks: the foreground colour is the upper pixel, the background the lower one. Without colour, it uses five
/// shades of gray.
struct BlockDrawing {
    let bytes: [UInt8]

    init(_ image: DecodedImage, usesColour: Bool) {
        var text = ""
        for top in stride(from: 0, to: image.height, by: 2) {
            for x in 0..<image.width {
                let upper = image[x, top]
                let lower = top + 1 < image.height ? image[x, top + 1] : SIMD4(0, 0, 0, 0)
                text += usesColour ? Self.cell(upper, lower) : String(Self.shade(upper, lower))
            }
            text += usesColour ? "\u{1B}[0m\n" : "\n"
        }
        bytes = Array(text.utf8)
    }

    private static func cell(_ upper: SIMD4<UInt8>, _ lower: SIMD4<UInt8>) -> String {
        switch (upper.w < 128, lower.w < 128) {
        case (true, true): return "\u{1B}[0m "
        case (true, false): return "\u{1B}[0;38;2;\(lower.x);\(lower.y);\(lower.z)m▄"
        case (false, true): return "\u{1B}[0;38;2;\(upper.x);\(upper.y);\(upper.z)m▀"
        case (false, false):
            return "\u{1B}[38;2;\(upper.x);\(upper.y);\(upper.z);48;2;\(lower.x);\(lower.y);\(lower.z)m▀"
        }
    }

    private static func shade(_ upper: SIMD4<UInt8>, _ lower: SIMD4<UInt8>) -> Character {
        let shades: [Character] = [" ", "░", "▒", "▓", "█"]
        func luma(_ pixel: SIMD4<UInt8>) -> Int {
            (Int(pixel.x) * 54 + Int(pixel.y) * 183 + Int(pixel.z) * 19) / 256 * Int(pixel.w) / 255
        }
        return shades[min(4, (luma(upper) + luma(lower)) / 2 * 5 / 255)]
    }
}

/// An image as sixels, in a cube of 6 × 6 × 6 colours with ordered dithering.
struct SixelDrawing {
    let bytes: [UInt8]

    /// Bayer's 4 × 4 thresholds, 0 … 15.
    private static let thresholds = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5]

    init(_ image: DecodedImage) {
        var text = "\u{1B}Pq\"1;1;\(image.width);\(image.height)"
        for colour in 0..<216 {
            text += "#\(colour);2;\(colour / 36 * 20);\(colour / 6 % 6 * 20);\(colour % 6 * 20)"
        }
        for top in stride(from: 0, to: image.height, by: 6) {
            text += Self.band(image, top)
        }
        bytes = Array((text + "\u{1B}\\\n").utf8)
    }

    /// Encodes six rows: one line of sixels for each of their colours.
    private static func band(_ image: DecodedImage, _ top: Int) -> String {
        var lines: [Int: [UInt8]] = [:]
        for row in 0..<min(6, image.height - top) {
            for x in 0..<image.width {
                guard let colour = colour(image[x, top + row], x, top + row) else { continue }
                lines[colour, default: [UInt8](repeating: 0, count: image.width)][x] |= 1 << UInt8(row)
            }
        }
        let drawn = lines.sorted { $0.key < $1.key }.map { "#\($0.key)" + runs($0.value) }
        return drawn.joined(separator: "$") + "-"
    }

    /// The index of a pixel's colour; `nil` if it is transparent.
    private static func colour(_ pixel: SIMD4<UInt8>, _ x: Int, _ y: Int) -> Int? {
        guard pixel.w >= 128 else { return nil }
        let threshold = thresholds[y % 4 * 4 + x % 4]
        func level(_ value: UInt8) -> Int { min(5, (Int(value) * 5 * 16 / 255 + threshold) / 16) }
        return level(pixel.x) * 36 + level(pixel.y) * 6 + level(pixel.z)
    }

    /// Run-length encodes a line.
    private static func runs(_ line: [UInt8]) -> String {
        var text = ""
        var index = 0
        while index < line.count {
            var end = index
            while end < line.count, line[end] == line[index] { end += 1 }
            let sixel = Character(Unicode.Scalar(line[index] + 63))
            text += end - index > 3 ? "!\(end - index)\(sixel)" : String(repeating: sixel, count: end - index)
            index = end
        }
        return text
    }
}
