import HTTPSemantics
import Testing

@Suite("URLs for display")
struct URLTextTests {
    @Test func `user names and passwords are removed from displayed URLs`() {
        #expect(URLText.withoutUserinfo("http://u:p@h/a@b#f") == "http://h/a@b")
        #expect(URLText.withoutUserinfo("http://h/a@b?c=@") == "http://h/a@b?c=@")
        #expect(URLText.masked("Location: http://u:p@h/x") == "Location: http://***@h/x")
        #expect(URLText.masked("to //u@h/ and https://a:b@c") == "to //***@h/ and https://***@c")
        #expect(URLText.masked("mail me@example.org // about http://h/@") == "mail me@example.org // about http://h/@")
    }

    @Test func `user and password are separated from the rest, even if the text is not a URL`() {
        #expect(URLText.separatingUserinfo("http://u:p@h/a#f").url == "http://h/a#f")
        #expect(URLText.separatingUserinfo("http://u:p@h/a#f").userinfo == "u:p")
        #expect(URLText.separatingUserinfo("http://u:p#w@h/").url == "http://h/")
        #expect(URLText.separatingUserinfo("u:p@h/a").url == "***@h/a")
        #expect(URLText.withoutUserinfo("http://u:p#w@h/a#f") == "http://h/a")
    }

    @Test func `scheme and authority are separated from the rest as they are spelled`() throws {
        let (origin, target) = try #require(URLText.separatingTarget("HTTPS://u@H:1/a/../b?c#d"))
        #expect(origin == "HTTPS://u@H:1" && target == "/a/../b?c#d")
        #expect(URLText.separatingTarget("http://h?c")?.target == "?c")
        #expect(URLText.separatingTarget("/a") == nil && URLText.separatingTarget("ftp://h/a") == nil)
    }

    @Test(arguments: [
        ("http://a", true), ("HTTPS://a/b", true), ("http://not a host", true), ("http:/a", false), ("ftp://a", false),
        ("a/b.jpg", false), ("", false), ("http", false),
    ])
    func `a text that begins as a URL is not taken for a file name`(_ text: String, _ isURL: Bool) {
        #expect(URLText.hasWebScheme(text) == isURL)
    }
}
