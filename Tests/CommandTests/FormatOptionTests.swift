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
}
