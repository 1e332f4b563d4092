import Testing
import TextIdentity

@Suite struct ByteTextTests {
    private let composed = "caf\u{E9}"
    private let decomposed = "cafe\u{301}"

    private struct Name: Hashable { @ByteText var owner: String }

    @Test func `texts are equal if their bytes are, and only then`() {
        #expect(composed == decomposed)
        #expect(composed.asBytes != decomposed.asBytes && !composed.hasSameBytes(as: decomposed))
        #expect(composed.asBytes == "caf\u{E9}".asBytes && "".asBytes == "".asBytes)
        #expect("x\(composed)".dropFirst().hasSameBytes(as: composed))
        #expect(Name(owner: composed) != Name(owner: decomposed))
    }

    @Test func `a set and a dictionary keep texts of different bytes apart`() {
        #expect(Set([composed, decomposed, composed].map(\.asBytes)).count == 2)
        #expect(Set([Name(owner: composed), Name(owner: decomposed)]).count == 2)
    }

    @Test func `texts are sorted by their bytes`() {
        let texts = ["\u{E9}", "z", "e\u{301}", "ab", "a", ""]
        #expect(texts.map(\.asBytes).sorted().map(\.wrappedValue) == ["", "a", "ab", "e\u{301}", "z", "\u{E9}"])
    }
}
