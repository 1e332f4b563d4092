import Testing

@testable import Transfer

@Suite("Fields that decide about resuming")
struct FieldParsingTests {
    @Test("Content-Range in bytes")
    func contentRange() {
        #expect(ContentRange("bytes 0-0/1") == .range(0..<1, total: 1))
        #expect(ContentRange("bytes 5-9/10") == .range(5..<10, total: 10))
        #expect(ContentRange("BYTES 5-9/*") == .range(5..<10, total: nil))
        #expect(ContentRange("bytes */0") == .unsatisfied(total: 0))
        #expect(
            ContentRange("bytes 9223372036854775805-9223372036854775805/9223372036854775807")
                == .range(9_223_372_036_854_775_805..<9_223_372_036_854_775_806, total: .max))
    }

    @Test(
        "Anything else is no Content-Range",
        arguments: [
            "", "bytes", "bytes ", "bytes 5-9", "bytes 5-9/", "bytes 5-4/10", "bytes 5-10/10", "bytes -5/10",
            "bytes 5-/10", "bytes +5-9/10", "bytes  5-9/10", "bytes 5-9/10/11", "bytes 5-9-10/20", "bytes */*",
            "bytes */", "bytes=5-9/10", "items 5-9/10", "bytes 5-9/10, bytes 0-1/10", "bytes 5- 9/10",
            "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775808/*", "bytes 0-1/99999999999999999999",
            "bytes ٥-٩/10",
        ])
    func noContentRange(_ field: String) {
        #expect(ContentRange(field) == nil)
    }

    @Test("Dates in the one form that servers must send")
    func dates() {
        #expect(secondsSince1970(imfFixdate: "Thu, 01 Jan 1970 00:00:00 GMT") == 0)
        #expect(secondsSince1970(imfFixdate: "Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
        #expect(secondsSince1970(imfFixdate: "Thu, 29 Feb 2024 23:59:59 GMT") == 1_709_251_199)
        #expect(secondsSince1970(imfFixdate: "Fri, 31 Dec 1999 23:59:60 GMT") == 946_684_800)
        #expect(secondsSince1970(imfFixdate: "Tue, 19 Jan 2038 03:14:08 GMT") == 2_147_483_648)
    }

    @Test(
        "Other dates do not count",
        arguments: [
            "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:-9:37 GMT", "Sün, 06 Nov 1994 08:49:37 GM",
        ])
    func noDates(_ field: String) {
        #expect(secondsSince1970(imfFixdate: field) == nil)
    }

    @Test("An ETag that is no text is none: as text, it would equal others")
    func unreadableTag() {
        #expect(isStrongEntityTag("\"\u{E9}\""))
        #expect(!isStrongEntityTag(String(decoding: [0x22, 0xFF, 0x22], as: UTF8.self)))
    }

    @Test("Users and passwords are taken out of what is shown")
    func masking() {
        #expect(URLText.withoutUserinfo("http://u:p@h/a@b#f") == "http://h/a@b")
        #expect(URLText.withoutUserinfo("http://h/a@b?c=@") == "http://h/a@b?c=@")
        #expect(URLText.masked("Location: http://u:p@h/x") == "Location: http://***@h/x")
        #expect(URLText.masked("to //u@h/ and https://a:b@c") == "to //***@h/ and https://***@c")
        #expect(URLText.masked("mail me@example.org // about http://h/@") == "mail me@example.org // about http://h/@")
    }

    @Test("A head is shown without credentials")
    func maskedHead() {
        let head = """
            GET http://u:p@h/ HTTP/1.1\r
            Host: h\r
            authorization: Basic c2VjcmV0\r
            Cookie: a=b\r
             folded-secret\r
            Proxy-Authorization:x\r
            Accept: */*\r
            \tfolded\r
            Set-Cookie: s=1\r
            \r

            """
        #expect(
            MaskedHead.lines(Array(head.utf8)) == [
                "GET http://***@h/ HTTP/1.1", "Host: h", "authorization: ***", "Cookie: ***", " ***",
                "Proxy-Authorization: ***", "Accept: */*", "\tfolded", "Set-Cookie: ***",
            ])
    }
}
