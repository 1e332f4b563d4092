/// Base64 (RFC 4648): the standard alphabet with padding for keys, the URL-safe one without padding for signatures.
package enum Base64 {
    /// Decodes well-formed base64 with or without its padding; nil for everything else, including non-zero unused bits:
    /// each sequence of bytes has one encoding.
    static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? { decode(text, isForURLs: false) }

    /// Decodes the URL-safe alphabet with `-` and `_`, without padding.
    package static func decodeURL(_ text: some Sequence<UInt8>) -> [UInt8]? { decode(text, isForURLs: true) }

    package static func encodeURL(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var held: UInt32 = 0
        var bits = 0
        for byte in bytes {
            held = held << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(character(UInt8(held >> UInt32(bits) & 63)))
            }
        }
        if bits > 0 { text.append(character(UInt8(held << UInt32(6 - bits) & 63))) }
        return String(decoding: text, as: UTF8.self)
    }

    private static func decode(_ text: some Sequence<UInt8>, isForURLs: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        var held: UInt32 = 0
        var (bits, digits, padding) = (0, 0, 0)
        for character in text {
            if character == UInt8(ascii: "="), !isForURLs {
                padding += 1
                continue
            }
            guard padding == 0, let value = value(of: character, isForURLs: isForURLs) else { return nil }
            held = held << 6 | UInt32(value)
            bits += 6
            digits += 1
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: held >> UInt32(bits)))
            }
        }
        guard digits % 4 != 1, padding == 0 || (digits + padding) % 4 == 0 && padding <= 2 else { return nil }
        guard held & (1 << UInt32(bits) - 1) == 0 else { return nil }
        return bytes
    }

    private static func value(of character: UInt8, isForURLs: Bool) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: isForURLs ? "-" : "+"): 62
        case UInt8(ascii: isForURLs ? "_" : "/"): 63
        default: nil
        }
    }

    private static func character(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }
}
