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

    @Test func `an IPv6 client is counted by its /64, and written as RFC 7239 wants it`() {
        let one = ClientAddress("2001:db8:1:2::1")
        #expect(one.subscriber == ClientAddress("2001:db8:1:2:ffff::9").subscriber)
        #expect(one.subscriber != ClientAddress("2001:db8:1:3::1").subscriber)
        #expect(ClientAddress("192.0.2.1").subscriber == "192.0.2.1")
        #expect(one.forwardedNode == "\"[2001:db8:1:2::1]\"")
        #expect(ClientAddress("192.0.2.1").forwardedNode == "192.0.2.1")
    }

    @Test func `the words of a list, without empty ones`() {
        #expect(Array(ListedTokens(" a,b ,\t c,,  ,d")) == ["a", "b", "c", "d"])
        #expect(Array(ListedTokens("")).isEmpty)
    }
}
