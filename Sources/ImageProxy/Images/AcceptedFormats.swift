import HTTPSemantics

/// The preference of `Accept` (RFC 9110 section 12.5.1) among the supported formats.
///
/// A client must name `image/webp` and `image/avif`: `image/*` and `*/*` are also sent by clients that do not support them.
struct AcceptedFormats {
    /// True if the client prefers WebP at least as much as JPEG and PNG.
    private(set) var isWebP = false
    /// True if it prefers AVIF at least as much as JPEG and PNG, and as WebP if it names that.
    private(set) var isAVIF = false
    /// True if it prefers JSON to plain text: for placeholders.
    private(set) var isJSON = false
    /// True if it names an image's type, or `image/*`: `*/*` is also sent by programs that want JSON.
    private(set) var isImage = false

    /// No preference.
    init() {}

    /// - Parameter lines: The lines of the field.
    init(_ lines: some Sequence<String>) {
        var weights: [String: Int] = [:]
        for line in lines {
            for member in line.split(separator: ",") {
                let parts = member.split(separator: ";")
                guard let type = parts.first?.trimmed.lowercased() else { continue }
                weights[type] = Self.weight(parts.dropFirst())
            }
        }
        let json = weights["application/json"] ?? 0
        isJSON = json > 0 && json >= weights["text/plain"] ?? 0
        isImage = weights.contains { $0.key.hasPrefix("image/") && $0.value > 0 }
        let rest = weights["image/*"] ?? weights["*/*"] ?? 0
        let others = max(weights["image/jpeg"] ?? rest, weights["image/png"] ?? rest)
        let (webP, avif) = (weights["image/webp"] ?? 0, weights["image/avif"] ?? 0)
        isWebP = webP > 0 && webP >= others
        isAVIF = avif > 0 && avif >= max(others, webP)
    }

    /// The weight in thousandths; 1000 if there is none, 0 if it is malformed.
    private static func weight(_ parameters: ArraySlice<Substring>) -> Int {
        for parameter in parameters {
            let text = parameter.trimmed
            guard text.utf8.first.map({ $0 | 0x20 }) == UInt8(ascii: "q"),
                text.dropFirst().utf8.first == UInt8(ascii: "=")
            else { continue }
            let value = text.dropFirst(2)
            guard let number = Double(value), (0...1).contains(number) else { return 0 }
            return Int((number * 1000).rounded())
        }
        return 1000
    }
}
