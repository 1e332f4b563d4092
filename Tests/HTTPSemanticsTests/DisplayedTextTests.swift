import HTTPSemantics
import Testing

@Suite("Displayed text from outside")
struct DisplayedTextTests {
    @Test(arguments: [
        ("gpj.\u{202E}exe", "gpj.\u{FFFD}exe"), ("a\u{200B}b\u{2066}c\u{2069}", "a\u{FFFD}b\u{FFFD}c\u{FFFD}"),
        ("\u{9B}31mred\u{85}next", "\u{FFFD}31mred\u{FFFD}next"),
        ("\u{1B}[2J\r\n\u{7F}", "\u{FFFD}[2J\u{FFFD}\u{FFFD}\u{FFFD}"),
        ("\u{FEFF}x\u{E0041}", "\u{FFFD}x\u{FFFD}"), ("\u{61C}\u{200E}\u{200F}", "\u{FFFD}\u{FFFD}\u{FFFD}"),
        ("schön, 日本語, 📷 e\u{301}", "schön, 日本語, 📷 e\u{301}"),
    ])
    func `displayed text has no character that controls, reorders or hides`(text: String, expected: String) {
        #expect(text.withoutHiddenCharacters.unicodeScalars.elementsEqual(expected.unicodeScalars))
    }

    @Test func `escaping hidden characters keeps the value of JSON`() {
        let text = #"{"name":"a\u{202E}b\u{9B}\u{E0041}ü"}"#
        let json = "{\"name\":\"a\u{202E}b\u{9B}\u{E0041}ü\"}"
        #expect(json.withEscapedHiddenCharacters == #"{"name":"a\u202eb\u009b\udb40\udc41ü"}"#)
        #expect(text.withEscapedHiddenCharacters == text)
        #expect("{\n\t\"a\": 1\r\n}".withEscapedHiddenCharacters == "{\n\t\"a\": 1\r\n}")
    }

    @Test(arguments: [0x200C, 0x200D] as [UInt32])
    func `joiners count as hidden but not as controls, because names of files need them`(value: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(value))
        #expect(scalar.isHidden && !scalar.isControl)
    }
}
