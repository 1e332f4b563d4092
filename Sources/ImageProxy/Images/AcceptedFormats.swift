import HTTPSemantics

/// The client's preferences in `Accept` (RFC 9110 section 12.5.1) among the supported formats.
///
/// `image/webp` and `image/avif` count only by name: clients that do not support these formats also send `image/*` and `*/*`.
struct AcceptedFormats {
    /// True if the client prefers WebP at least as much as JPEG and PNG.
    private(set) var isWebP = false
    /// True if the client prefers AVIF at least as much as JPEG and PNG, and at least as much as WebP if `Accept` names WebP.
    private(set) var isAVIF = false
    /// True if the client prefers JSON to plain text, for placeholders.
    private(set) var isJSON = false
    /// True if `Accept` names JSON-LD.
    private(set) var isLinkedJSON = false
    /// True if `Accept` names an image type or `image/*`. `*/*` does not count, because programs that want JSON also send it.
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
        isLinkedJSON = weights["application/ld+json"] ?? 0 > 0
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
