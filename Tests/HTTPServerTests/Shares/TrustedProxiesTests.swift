import HTTPTypes
import Testing

@testable import HTTPServer

struct TrustedProxiesTests {
    private static let proxies = TrustedProxies(
        ["10.0.0.0/8", "192.0.2.1", "2001:db8:1::/48"].compactMap { AddressBlock($0) })

    private func client(_ peer: String, _ fields: (String, String)...) -> String {
        var all = HTTPFields()
        for (name, value) in fields {
            if let name = HTTPField.Name(name) { all.append(HTTPField(name: name, value: value)) }
        }
        return Self.proxies.client(of: all, from: ClientAddress(peer)).description
    }

    @Test func `forwarding fields from an untrusted client are ignored`() {
        #expect(
            client("203.0.113.9", ("X-Forwarded-For", "198.51.100.1"), ("Forwarded", "for=198.51.100.1"))
                == "203.0.113.9")
        #expect(client("10.1.2.3") == "10.1.2.3")
    }

    @Test(arguments: [
        ("198.51.100.1", "198.51.100.1"),
        ("6.6.6.6, 198.51.100.1", "198.51.100.1"),
        ("6.6.6.6, 198.51.100.1, 10.9.9.9", "198.51.100.1"),
        ("6.6.6.6, 198.51.100.1:4711 , 192.0.2.1", "198.51.100.1"),
        ("10.0.0.7, 10.0.0.8", "10.0.0.7"),
        ("::ffff:198.51.100.1", "198.51.100.1"),
        ("[2001:db8:2::7]:80", "2001:db8:2::7"),
        ("2001:db8:2::7, 2001:db8:1::1", "2001:db8:2::7"),
        ("198.51.100.1, unknown", "10.1.2.3"),
        ("198.51.100.1, unknown, 10.0.0.9", "10.0.0.9"),
        ("198.51.100.1, 010.0.0.9", "10.1.2.3"),
        ("nonsense", "10.1.2.3"),
        ("", "10.1.2.3"),
    ])
    func `the rightmost address that is not a proxy's is the client`(value: String, expected: String) {
        #expect(client("10.1.2.3", ("X-Forwarded-For", value)) == expected, "\(value)")
    }

    @Test(arguments: [
        ("for=198.51.100.1", "198.51.100.1"),
        ("For=\"198.51.100.1:80\";proto=http;by=10.0.0.1", "198.51.100.1"),
        ("for=6.6.6.6, for=198.51.100.1 ; host=a, for=10.0.0.2", "198.51.100.1"),
        ("for=\"[2001:db8:2::7]:4711\"", "2001:db8:2::7"),
        ("for=6.6.6.6;for=198.51.100.1", "10.1.2.3"),
        ("host=\"a, for=6.6.6.6\";for=198.51.100.1", "198.51.100.1"),
        ("host=\"a\\\", for=6.6.6.6\";for=198.51.100.1", "198.51.100.1"),
        ("for=_hidden", "10.1.2.3"),
        ("for=198.51.100.1, proto=https", "10.1.2.3"),
        ("for=\"198.51.100.1", "10.1.2.3"),
    ])
    func `Forwarded is read as RFC 7239 specifies`(value: String, expected: String) {
        #expect(client("10.1.2.3", ("Forwarded", value)) == expected, "\(value)")
    }

    @Test func `several lines of a field are one list`() {
        #expect(
            client("10.1.2.3", ("X-Forwarded-For", "6.6.6.6"), ("X-Forwarded-For", "198.51.100.1")) == "198.51.100.1")
    }

    @Test func `a client that adds the field that its proxy does not set counts as the proxy`() {
        #expect(client("10.1.2.3", ("X-Forwarded-For", "198.51.100.1"), ("Forwarded", "for=6.6.6.6")) == "10.1.2.3")
        #expect(
            client("10.1.2.3", ("X-Forwarded-For", "198.51.100.1"), ("Forwarded", "for=198.51.100.1")) == "198.51.100.1"
        )
    }

    @Test(arguments: [
        "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "localhost", "", "/8",
    ])
    func `an invalid address block is refused`(text: String) {
        #expect(AddressBlock(text) == nil)
    }

    @Test func `an IPv6 client is identified by its /64 network, and an IPv4 client is the same on every listener`() {
        #expect(ClientAddress("2001:db8::1").subscriber == ClientAddress("2001:db8::ffff").subscriber)
        #expect(ClientAddress("2001:db8::1").subscriber != ClientAddress("2001:db8:0:1::1").subscriber)
        #expect(ClientAddress("::ffff:192.0.2.7").subscriber == ClientAddress("192.0.2.7").subscriber)
        #expect(ClientAddress("::ffff:192.0.2.7").subscriber != ClientAddress("::ffff:192.0.2.8").subscriber)
        #expect(ClientAddress("::ffff:192.0.2.7").description == "192.0.2.7")
    }
}
