import Testing

@testable import Transfer

@Suite("Heads for display")
struct MaskingTests {
    @Test func `a head is shown without credentials`() {
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
