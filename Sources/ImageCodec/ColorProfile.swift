internal import CImageCodec

/// An embedded ICC profile (ISO 15076-1).
struct ColorProfile {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// True if the profile describes red, green and blue (section 7.2.6).
    var isRGB: Bool { bytes.dropFirst(16).starts(with: "RGB ".utf8) }

    /// The profile's description, or nil if it is missing or malformed.
    var name: String? {
        var text = [CChar](repeating: 0, count: 256)
        guard icodec_profile_description(bytes, bytes.count, &text, text.count) else { return nil }
        let name = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? nil : name
    }
}
