import FoundationEssentials
import ImageCodec

/// A textual placeholder for an image.
public enum Placeholder: String, Sendable, Hashable, CaseIterable {
    /// `DecodedImage.thumbHash`, in Base64.
    case thumbHash = "thumbhash"
    /// `DecodedImage.blurHash`.
    case blurHash = "blurhash"
    /// `DecodedImage.dominantColor` as `#rrggbb`; empty if no pixel is visible.
    case dominantColor = "color"
}

extension ThumbnailEncoding {
    /// A placeholder as `text/plain`, or as a JSON object with one member.
    public static func placeholder(_ placeholder: Placeholder, asJSON: Bool = false) -> ThumbnailEncoding {
        .encoder(ImageEncoder(PlaceholderEncoding(placeholder: placeholder, isJSON: asJSON)))
    }
}

/// Writes a placeholder instead of an image file.
struct PlaceholderEncoding: ImageEncoding {
    var placeholder: Placeholder
    var isJSON: Bool

    var format: ImageFormat { isJSON ? .json : .plainText }
    var identity: String { "\(placeholder.rawValue)\(isJSON ? "-json" : "") 1" }

    func memory(width: Int, height: Int) -> Int { 1 << 20 }

    func encode(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> [UInt8] {
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
    static let plainText = ImageFormat(name: "text", mediaType: "text/plain; charset=utf-8")
    static let json = ImageFormat(name: "JSON", mediaType: "application/json")

    var isImage: Bool { self != .plainText && self != .json }
}

extension ImageRecipe.Output {
    /// The format of a result's bytes; nil if it is unknown.
    func format(of bytes: [UInt8]) -> ImageFormat? {
        switch self {
        case .description: return .json
        case .encoded(let encoder) where !encoder.format.isImage: return encoder.format
        default: return ImageFormat.detect(bytes.prefix(ImageFormat.signatureLength))
        }
    }
}
