/// The width of text on a terminal: Chinese, Japanese and Korean characters and emoji occupy two columns (Unicode
/// Standard Annex 11), and a line wider than the terminal cannot be overwritten.
enum TerminalColumns {
    static func count(of text: some Sequence<Character>) -> Int { text.reduce(0) { $0 + columns(of: $1) } }

    /// The longest prefix that fits into `width` columns.
    static func prefix(_ text: some Sequence<Character>, _ width: Int) -> String {
        var rest = width
        return String(
            text.prefix { character in
                rest -= columns(of: character)
                return rest >= 0
            })
    }

    private static func columns(of character: Character) -> Int {
        character.unicodeScalars.contains { scalar in wide.contains { $0.contains(scalar.value) } } ? 2 : 1
    }

    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0xFE0F...0xFE0F, 0x1F004...0x1F004,
        0x1F0CF...0x1F0CF, 0x1F18E...0x1F19A, 0x1F1E6...0x1F320, 0x1F32D...0x1F64F, 0x1F680...0x1F6FF,
        0x1F7E0...0x1F7EB, 0x1F90C...0x1FAFF, 0x20000...0x3FFFD,
    ]
}

extension String {
    /// The text with spaces before it, up to a width in characters.
    func rightAligned(in width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }

    /// The text with spaces after it, up to a width in characters.
    func leftAligned(in width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
