/// Text from outside, made harmless where people read it: a server's words must not drive a terminal, or look like other words.
extension Unicode.Scalar {
    /// C0 and C1 controls, line and paragraph separators, and marks that reorder text (Unicode Standard Annex 9).
    package var isControl: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x206F: true
        default: false
        }
    }

    /// A control character, or a character without a width: zero-width spaces and joiners, fillers, tags and annotations.
    package var isHidden: Bool {
        switch value {
        case 0x034F, 0x115F...0x1160, 0x17B4...0x17B5, 0x180B...0x180F, 0x200B...0x200D, 0x2060...0x2065, 0x3164,
            0xFEFF,
            0xFFA0, 0xFFF9...0xFFFB, 0xE0000...0xE007F:
            true
        default: isControl
        }
    }
}

extension String {
    /// The text with U+FFFD in place of each hidden character.
    package var withoutHiddenCharacters: String { replacingHidden { _ in "\u{FFFD}" } }

    /// JSON text with hidden characters as escapes. The value stays the same: outside strings, JSON has none of them but white space.
    package var withEscapedHiddenCharacters: String {
        replacingHidden { scalar in
            if scalar.value < 0x80 { return String(scalar) }
            return String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
    }

    private func replacingHidden(_ replacement: (Unicode.Scalar) -> String) -> String {
        guard unicodeScalars.contains(where: \.isHidden) else { return self }
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if scalar.isHidden { result += replacement(scalar).unicodeScalars } else { result.append(scalar) }
        }
        return String(result)
    }
}
