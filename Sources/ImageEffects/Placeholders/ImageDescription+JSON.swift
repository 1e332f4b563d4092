import Digests
import FoundationEssentials
import ImageCodec

extension ImageDescription: Codable {
    private enum CodingKeys: String, CodingKey {
        case format, width, height, orientation, frames, alpha, progressive, blurhash, thumbhash
        case mediaType = "media_type"
        case fileSize = "file_size"
        case bitDepth = "bit_depth"
        case colorSpace = "color_space"
        case dominantColor = "dominant_color"
    }

    /// Encodes an object, with the ThumbHash in Base64, and the colour as `#rrggbb` or null.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(format, forKey: .format)
        try container.encode(mediaType, forKey: .mediaType)
        try container.encode(width, forKey: .width)
        try container.encode(height, forKey: .height)
        try container.encode(fileSize, forKey: .fileSize)
        try container.encode(orientation, forKey: .orientation)
        try container.encode(frames, forKey: .frames)
        try container.encode(bitDepth, forKey: .bitDepth)
        try container.encode(colorSpace, forKey: .colorSpace)
        try container.encode(hasAlpha, forKey: .alpha)
        try container.encode(isProgressive, forKey: .progressive)
        try container.encode(blurHash, forKey: .blurhash)
        try container.encode(Data(thumbHash).base64EncodedString(), forKey: .thumbhash)
        try container.encode(dominantColor?.hexadecimal, forKey: .dominantColor)
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let color = try container.decodeIfPresent(String.self, forKey: .dominantColor)
        self.init(
            format: try container.decode(String.self, forKey: .format),
            mediaType: try container.decode(String.self, forKey: .mediaType),
            width: try container.decode(Int.self, forKey: .width),
            height: try container.decode(Int.self, forKey: .height),
            fileSize: try container.decode(Int.self, forKey: .fileSize),
            orientation: try container.decode(Int.self, forKey: .orientation),
            frames: try container.decode(Int.self, forKey: .frames),
            bitDepth: try container.decode(Int.self, forKey: .bitDepth),
            colorSpace: try container.decode(String.self, forKey: .colorSpace),
            hasAlpha: try container.decode(Bool.self, forKey: .alpha),
            isProgressive: try container.decode(Bool.self, forKey: .progressive),
            blurHash: try container.decode(String.self, forKey: .blurhash),
            thumbHash: try container.decode(Data.self, forKey: .thumbhash).map { $0 },
            dominantColor: color.flatMap { ImageSizing.Color(hexadecimal: $0) })
    }

    /// The JSON in UTF-8, with sorted keys.
    package var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map(Array.init) ?? []
    }
}

extension ImageSizing.Color {
    /// `#rrggbb`.
    package var hexadecimal: String { "#" + [red, green, blue].hexadecimal }

    /// Parses `#rrggbb`.
    package init?(hexadecimal text: String) {
        // `UInt32(_:radix:)` also accepts a sign.
        guard text.utf8.count == 7, text.hasPrefix("#"), text.dropFirst().allSatisfy(\.isHexDigit),
            let number = UInt32(text.dropFirst(), radix: 16)
        else { return nil }
        self.init(
            red: UInt8(truncatingIfNeeded: number >> 16), green: UInt8(truncatingIfNeeded: number >> 8),
            blue: UInt8(truncatingIfNeeded: number))
    }
}
