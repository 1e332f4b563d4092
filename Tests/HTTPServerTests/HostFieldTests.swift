import Testing

@testable import HTTPServer

struct HostFieldTests {
    @Test(arguments: [
        "[evil]", "[evil]:8081", "[::1", "::1", "[::1]x", "[::1]:x", "[::1].evil", "[]", "[127.0.0.1]",
        "[fe80::1%25eth0]",
        "[v1.a]", "127.0.0.1:8081@evil.example", "a@b", "a/b", "a?b", "a,b", "a b", "a..b", ".", ".a", "a:b", "a:1:2",
        "a:99999",
        "a:+1", "256.1.1.1", "1.2.3", "1.2.3.4.5", "127.1", "0x7f.1", "a.0x7f", "2130706433", "017700000001",
        "ä.example", "a%2eb", ":", ":80",
        "a\\b", String(repeating: "a", count: 64),
    ])
    func `an invalid host is not a Host field`(text: String) {
        #expect(HostField(text.utf8) == nil, "\(text)")
    }

    @Test func `a Host field is a name or an address, and perhaps a port`() throws {
        let name = try #require(HostField("Images.Example.:443".utf8))
        #expect(name.host == .name("images.example") && name.port == 443)
        #expect(HostField("a_b-c.d:".utf8)?.host == .name("a_b-c.d"))
        #expect(HostField("[::1]:80".utf8)?.host == HostField("[0:0::1]".utf8)?.host)
        #expect(HostField("".utf8)?.host == .name(""))
    }
}
