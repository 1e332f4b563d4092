import FoundationEssentials
package import ImageCodec

/// A textual placeholder for an image.
public enum Placeholder: String, Sendable, Hashable, CaseIterable {
    /// `DecodedImage.thumbHash`, in Base64.
    case thumbHash = "thumbhash"
    /// `DecodedImage.blurHash`.
    case blurHash = "blurhash"
    /// `DecodedImage.dominantColor` as `#rrggbb`; empty if no pixel is visible.
    case dominantColor = "color"
}

/// Writes a placeholder instead of an image file.
package struct PlaceholderEncoding: OwnImageEncoding {
    package var placeholder: Placeholder
    package var isJSON: Bool

    package init(placeholder: Placeholder, isJSON: Bool) {
        (self.placeholder, self.isJSON) = (placeholder, isJSON)
    }

    package var format: ImageFormat { isJSON ? .json : .plainText }
    package var identity: String { "\(placeholder.rawValue)\(isJSON ? "-json" : "") 1" }

    package func memory(width: Int, height: Int) -> Int { 1 << 20 }

    package func encode(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> [UInt8] {
        let text: String =
            switch placeholder {
            case .thumbHash: Data(try image.thumbHash(within: budget)).base64EncodedString()
            case .blurHash: try image.blurHash(within: budget)
            case .dominantColor: try image.dominantColor(within: budget)?.hexadecimal ?? ""
            }
        // The placeholders have no characters that need escapes in JSON.
        return Array((isJSON ? "{\"\(placeholder.rawValue)\":\"\(text)\"}" : text).utf8)
    }
}

extension ImageFormat {
    /// The formats of texts derived from an image.
    package static let plainText = ImageFormat(name: "text", mediaType: "text/plain; charset=utf-8")
    package static let json = ImageFormat(name: "JSON", mediaType: "application/json")

    package var isImage: Bool { self != .plainText && self != .json }
}

extension PlaceholderEncoding: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(raw: &placeholder)
        try coder.code(&isJSON)
    }
}
