import HTTPSemantics
import Testing

@testable import Transfer

@Suite("Special-purpose addresses")
struct AddressPolicyTests {
    @Test(arguments: [
        ("0.0.0.0", "unspecified"), ("0.1.2.3", "unspecified"), ("10.0.0.1", "private"),
        ("10.255.255.255", "private"), ("100.64.0.1", "shared (CGNAT)"), ("100.100.100.200", "shared (CGNAT)"),
        ("100.127.255.255", "shared (CGNAT)"), ("127.0.0.1", "loopback"), ("127.255.255.254", "loopback"),
        ("168.63.129.16", "a cloud's own service"), ("169.254.0.1", "link-local"),
        ("169.254.169.254", "link-local"),
        ("172.16.0.1", "private"), ("172.31.255.255", "private"), ("192.0.0.192", "reserved for protocols"),
        ("192.0.2.1", "documentation"), ("192.88.99.1", "6to4 relay"), ("192.168.1.1", "private"),
        ("198.18.0.1", "benchmarking"), ("198.19.255.255", "benchmarking"), ("198.51.100.7", "documentation"),
        ("203.0.113.9", "documentation"), ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"),
        ("240.0.0.1", "reserved"), ("255.255.255.255", "broadcast"), ("::", "unspecified"), ("::1", "loopback"),
        ("::2", "IPv4-compatible"), ("::127.0.0.1", "IPv4-compatible"), ("::8.8.8.8", "IPv4-compatible"),
        ("::ffff:0:127.0.0.1", "IPv4-translated"), ("64:ff9b:1::1", "local-use NAT64"), ("100::1", "discard-only"),
        ("2001::1", "Teredo"), ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
        ("2001:20::1", "reserved for protocols"), ("2001:db8::1", "documentation"), ("3fff::1", "documentation"),
        ("5f00::1", "segment routing"), ("fc00::1", "unique-local"), ("fd00:ec2::254", "unique-local"),
        ("fe80::1", "link-local"), ("febf::1", "link-local"), ("fec0::1", "site-local"), ("ff02::1", "multicast"),
        ("4000::1", "not global unicast"), ("::ffff:127.0.0.1", "loopback, as IPv4-mapped"),
        ("::ffff:169.254.169.254", "link-local, as IPv4-mapped"), ("64:ff9b::10.0.0.1", "private, as NAT64"),
        ("64:ff9b::a9fe:a9fe", "link-local, as NAT64"), ("2002:7f00:1::1", "loopback, as 6to4"),
        ("2002:c0a8:101::1", "private, as 6to4"), ("2a00:1450::5efe:10.0.0.1", "private, as ISATAP"),
        ("2a00:1450::200:5efe:127.0.0.1", "loopback, as ISATAP"),
    ])
    func `special-purpose addresses are recognised in each family`(text: String, purpose: String) throws {
        let address = try #require(NetworkAddress(text))
        #expect(address.specialPurpose == purpose)
        let refusal = AddressPolicy.publicOnly().refusal(of: address, for: nil)
        #expect(refusal?.contains(purpose) == true)
        #expect(AddressPolicy.any.refusal(of: address, for: nil) == nil)
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.1", "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255",
        "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
        "198.51.99.255", "203.0.114.0", "223.255.255.255", "2001:200::1", "2001:4860:4860::8888", "2606:4700::1111",
        "2a00:1450::1", "3fff:1000::1", "2001:db9::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        "2a00:1450::5efe:8.8.8.8",
    ])
    func `public addresses next to special-purpose ranges are accepted`(text: String) throws {
        let address = try #require(NetworkAddress(text))
        #expect(address.specialPurpose == nil)
        #expect(AddressPolicy.publicOnly().refusal(of: address, for: nil) == nil)
    }

    @Test func `a private address is permitted only for the named endpoint`() throws {
        let policy = AddressPolicy.publicOnly(except: [.init(host: "Origin.example", port: 8080)])
        let loopback = try #require(NetworkAddress("127.0.0.1"))
        func isAllowed(_ host: String, _ port: Int) -> Bool {
            policy.refusal(of: loopback, for: AddressPolicy.Endpoint(host: host, port: port)) == nil
        }
        #expect(isAllowed("origin.example", 8080))
        #expect(!isAllowed("origin.example", 80))
        #expect(!isAllowed("other.example", 8080))
        #expect(!isAllowed("127.0.0.1", 8080))
        #expect(policy.refusal(of: loopback, for: nil) != nil)
    }

    @Test func `a public address is refused if its host is not permitted`() throws {
        let policy = AddressPolicy.publicOnly(except: [.init(host: "a.example", port: 80)]) { $0.host == "b.example" }
        let (inside, outside) = (try #require(NetworkAddress("10.0.0.1")), try #require(NetworkAddress("8.8.8.8")))
        func refusal(_ address: NetworkAddress, _ host: String) -> String? {
            policy.refusal(of: address, for: AddressPolicy.Endpoint(host: host, port: 80))
        }
        #expect(refusal(inside, "a.example") == nil)
        #expect(refusal(outside, "a.example") == nil)
        #expect(refusal(inside, "b.example")?.contains("private") == true)
        #expect(refusal(outside, "b.example") == nil)
        #expect(refusal(outside, "c.example")?.contains("c.example:80") == true)
        #expect(policy.refusal(of: outside, for: nil) != nil)
    }

    @Test func `a host is judged before its name is resolved`() {
        let policy = AddressPolicy.publicOnly(except: [.init(host: "a.example", port: 80)]) { $0.host == "b.example" }
        func refusal(_ host: String, _ port: Int = 80) -> String? {
            policy.refusal(of: AddressPolicy.Endpoint(host: host, port: port))
        }
        #expect(refusal("a.example") == nil && refusal("B.example", 81) == nil)
        #expect(refusal("a.example", 81)?.contains("a.example:81") == true)
        #expect(refusal("c.example") != nil)
        #expect(AddressPolicy.publicOnly().refusal(of: AddressPolicy.Endpoint(host: "c.example", port: 80)) == nil)
        #expect(AddressPolicy.any.refusal(of: AddressPolicy.Endpoint(host: "c.example", port: 80)) == nil)
    }

    @Test func `an endpoint without an IP address is refused`() {
        #expect(AddressPolicy.publicOnly().refusal(of: nil, for: nil) != nil)
        #expect(AddressPolicy.any.refusal(of: nil, for: nil) == nil)
    }

    @Test(arguments: ["10.1.2.3", "2a00:1450::1", "::ffff:127.0.0.1"])
    func `an address is written as it was read`(text: String) { #expect(NetworkAddress(text)?.description == text) }

    @Test(arguments: ["", "127.1", "0x7f.0.0.1", "2130706433", "[::1]", "a"])
    func `only plain addresses are read`(text: String) { #expect(NetworkAddress(text) == nil) }
}
