import ImageCache
import Testing

struct TextDecodingTests {
    @Test(
        arguments: [
            ([0x61, 0xC3, 0xA9], nil, "aé"), ([0x61, 0xE9], nil, "aé"), ([0xEF, 0xBB, 0xBF, 0x61], nil, "a"),
            ([0x61, 0xC3, 0xA9], "text/plain; charset=utf-8", "aé"), ([0xE9], "text/plain;charset=ISO-8859-1", "é"),
            ([0x80, 0x99], "text/plain; charset=windows-1252", "€™"), ([0x80], "text/plain; charset=\"latin1\"", "€"),
            ([0x61, 0x00, 0xAC, 0x20], "text/plain; charset=utf-16", "a€"),
            ([0x00, 0x61, 0x20, 0xAC], "text/plain; charset=UTF-16BE", "a€"),
            ([0xFE, 0xFF, 0x00, 0x61], "text/plain; charset=utf-16le", "a"), ([0xFF, 0xFE, 0x61, 0x00], nil, "a"),
            ([0x3D, 0xD8, 0x00, 0xDE], "text/plain; charset=utf-16le", "\u{1F600}"),
            ([0x61, 0x00, 0x62], "text/plain; charset=utf-16le", "a\u{FFFD}"),
            ([0xC3], "a/b; charset=utf-8", "\u{FFFD}"),
            ([0x61], "text/html; x=\";charset=none\"; CharSet = utf-8 ; y", "a"), ([], nil, ""),
            ([0x61], "text/html; charset=", "a"),
            ([0x61], "text/html; charset", "a"), ([0x61], ";;=;\"", "a"),
        ] as [([UInt8], String?, String)])
    func `text is read by its byte order mark, its charset, or as UTF-8 and windows-1252`(
        bytes: [UInt8], contentType: String?, text: String
    ) throws {
        #expect(try TextDecoding.text(bytes, contentType: contentType) == text)
    }

    @Test func `an unknown charset is an error that names it`() {
        #expect(throws: TextDecodingError(charset: "koi8-r")) {
            try TextDecoding.text([0x61], contentType: "text/plain; charset=KOI8-R")
        }
    }
}
