/// The preference of `Accept` (RFC 9110 section 12.5.1) among the supported formats.
enum AcceptedFormats {
    /// Returns true if a client prefers WebP at least as much as JPEG and PNG.
    ///
    /// It must name `image/webp`: `image/*` and `*/*` are also sent by clients that do not support WebP.
    static func prefersWebP(_ lines: some Sequence<String>) -> Bool {
        var webp: Int?
        var (jpeg, png): (Int?, Int?) = (nil, nil)
        var (images, anything): (Int?, Int?) = (nil, nil)
        for line in lines {
            for member in line.split(separator: ",") {
                let parts = member.split(separator: ";")
                guard let type = parts.first?.trimmed.lowercased() else { continue }
                let weight = weight(parts.dropFirst())
                switch type {
                case "image/webp": webp = weight
                case "image/jpeg": jpeg = weight
                case "image/png": png = weight
                case "image/*": images = weight
                case "*/*": anything = weight
                default: break
                }
            }
        }
        guard let webp, webp > 0 else { return false }
        let rest = images ?? anything ?? 0
        return webp >= max(jpeg ?? rest, png ?? rest)
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

extension Substring {
    /// The text without spaces and tabs at its ends.
    fileprivate var trimmed: Substring {
        var text = self
        while let first = text.utf8.first, first == 0x20 || first == 0x09 { text = text.dropFirst() }
        while let last = text.utf8.last, last == 0x20 || last == 0x09 { text = text.dropLast() }
        return text
    }
}
