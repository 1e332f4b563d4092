import HTTPSemantics
import Testing

@testable import HTTPServer

struct SmallPartTests {
    @Test func `text in JSON is escaped`() {
        var line = JSONLine()
        line.add("a", "\"\\\n\u{7F}ä")
        line.add("b", 3)
        line.add("c", milliseconds: .microseconds(1_042))
        line.add("d", true)
        #expect(
            String(decoding: line.finished(), as: UTF8.self)
                == #"{"a":"\"\\\u000a\u007fä","b":3,"c":1.042,"d":true}"#)
    }

    @Test func `invisible characters in JSON are escaped, others are not`() {
        var line = JSONLine()
        line.add("a", "ä\u{202E}gpj\u{200B}\u{9B}\u{E0041}\u{1F600}\n")
        #expect(
            String(decoding: line.finished(), as: UTF8.self)
                == "{\"a\":\"ä\\u202egpj\\u200b\\u009b\\udb40\\udc41\u{1F600}\\u000a\"}")
    }

    @Test func `an address is named by an authority with the same port, and loopback by localhost`() throws {
        for (address, authority, isNamed) in [
            (ListenAddress(host: "127.0.0.1", port: 8080), "127.0.0.1:8080", true),
            (ListenAddress(host: "127.0.0.1", port: 8080), "localhost:8080", true),
            (ListenAddress(host: "127.0.0.1", port: 8080), "LOCALHOST.:8080", true),
            (ListenAddress(host: "127.0.0.1", port: 8080), "127.0.0.1", false),
            (ListenAddress(host: "127.0.0.1", port: 80), "localhost", true),
            (ListenAddress(host: "::1", port: 80), "[::1]", true),
            (ListenAddress(host: "::1", port: 80), "localhost", true),
            (ListenAddress(host: "::ffff:127.0.0.1", port: 80), "127.0.0.1", true),
            (ListenAddress(host: "192.0.2.1", port: 80), "localhost", false),
            (ListenAddress(host: "192.0.2.1", port: 80), "192.0.2.2", false),
            (ListenAddress(host: "192.0.2.1", port: 80), "example.com", false),
        ] {
            #expect(address.isNamed(by: try #require(HostField(authority.utf8))) == isNamed, "\(address), \(authority)")
        }
    }

    @Test func `an IPv6 client is counted by its /64, and written as RFC 7239 wants it`() {
        let one = ClientAddress("2001:db8:1:2::1")
        #expect(one.subscriber == ClientAddress("2001:db8:1:2:ffff::9").subscriber)
        #expect(one.subscriber != ClientAddress("2001:db8:1:3::1").subscriber)
        #expect(ClientAddress("192.0.2.1").subscriber == "192.0.2.1")
        #expect(one.forwardedNode == "\"[2001:db8:1:2::1]\"")
        #expect(ClientAddress("192.0.2.1").forwardedNode == "192.0.2.1")
    }

    @Test func `a list is split into its words, without empty ones`() {
        #expect(Array(ListedTokens(" a,b ,\t c,,  ,d")) == ["a", "b", "c", "d"])
        #expect(Array(ListedTokens("")).isEmpty)
    }
}
