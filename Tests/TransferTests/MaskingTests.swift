import Testing

@testable import Transfer

@Suite("Heads for display")
struct MaskingTests {
    @Test func `a head is shown without credentials`() {
        let head = """
            GET http://u:p@h/?a=1&X-Amz-Signature=0f HTTP/1.1\r
            X-Api-Key: k\r
            PRIVATE-TOKEN: t\r
            Location: https://s3.example/a?token=abc\r
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
                "GET http://***@h/?a=1&X-Amz-Signature=*** HTTP/1.1", "X-Api-Key: ***", "PRIVATE-TOKEN: ***",
                "Location: https://s3.example/a?token=***", "Host: h", "authorization: ***", "Cookie: ***", " ***",
                "Proxy-Authorization: ***", "Accept: */*", "\\u{9}folded", "Set-Cookie: ***",
            ])
    }
}
