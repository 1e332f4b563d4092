import Testing

@testable import Transfer

@Suite("What is shown of heads and URLs")
struct MaskingTests {
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
