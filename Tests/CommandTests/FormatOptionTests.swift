import ArgumentParser
import ImageCache
import Testing

@testable import imgcache

struct FormatOptionTests {
    @Test func `--format takes each format that the library writes`() throws {
        let options = try EncodingOptions.parse([])
        let written = EncodingOptions.Format.allCases.map { options.encoder($0, background: nil).format }
        for format in ImageFormat.allCases where format.isWritten {
            #expect(written.contains(format), "EncodingOptions.Format of the command lacks \(format)")
        }
    }

    @Test(arguments: ["#ff8000", "ff8000", "FF8000"])
    func `a colour is hexadecimal digits`(text: String) {
        #expect(SizingOptions.Colour(argument: text)?.value == ImageSizing.Color(red: 255, green: 128, blue: 0))
    }

    @Test(arguments: [
        "", "#", "+ff", "+fffff", "#+fffff", "-00001", "##ff8000", "ff80", "ff80000", "ff800g", "\u{FF10}",
        "\u{FF10}\u{FF10}", "red",
    ])
    func `text that is not three or six hexadecimal digits is not a colour`(text: String) {
        #expect(SizingOptions.Colour(argument: text) == nil)
    }

    @Test func `a colour may be short, white or black`() {
        #expect(SizingOptions.Colour(argument: "f80")?.value == ImageSizing.Color(red: 255, green: 136, blue: 0))
        #expect(SizingOptions.Colour(argument: "white")?.value == .white)
        #expect(SizingOptions.Colour(argument: "black")?.value == .black)
    }
}
