import HTTPServer
import Testing

@testable import ImageProxy

@Suite("The table of origins")
struct OriginTableTests {
    private func table(_ patterns: [String]) throws -> OriginTable<String> {
        OriginTable(try patterns.map { (try OriginPattern($0), $0) })
    }

    @Test func `the longest path wins, in whole segments`() throws {
        let table = try table(["/shop/", "/shop/sale/", "/photos/"])
        for (path, pattern) in [
            ("/shop/a.jpg", "/shop/"), ("/shop/", "/shop/"), ("/shop/sale/a", "/shop/sale/"), ("/shop/sales", "/shop/"),
            ("/photos/x?y=/shop/", "/photos/"), ("/sh%6Fp/a", "/shop/"), ("/shop/%2e%2e/photos/a", "/photos/"),
            ("/shop", nil), ("/shopping/a", nil), ("/", nil), ("/a/shop/", nil), ("/Shop/a", nil), ("/shop%2Fa", nil),
            ("/%zz/", nil),
        ] {
            #expect(table.value(authority: "any.example", target: path) == pattern, "\(path)")
            #expect(table.value(authority: nil, target: path) == pattern, "\(path)")
        }
    }

    @Test func `a host is compared without regard to case, port and a dot at its end`() throws {
        let table = try table(["photos.example", "/"])
        for host in [
            "photos.example", "PHOTOS.Example", "photos.example:8080", "photos.example.", "photos.example.:80",
        ] {
            #expect(table.value(authority: host, target: "/a") == "photos.example", "\(host)")
        }
        for host in [
            "a.photos.example", "photos.example.com", "photos", "", "127.0.0.1", "photos.example@b", "bad host",
        ] {
            #expect(table.value(authority: host, target: "/a") == "/", "\(host)")
        }
        #expect(table.value(authority: nil, target: "/a") == "/")
    }

    @Test func `a name with a port precedes a name, then a wildcard, then any host`()
        throws
    {
        let table = try table([
            "/shop/", "*.example", "*.cdn.example", "a.cdn.example", "a.cdn.example:8443", "a.cdn.example/raw/",
            "[::1]",
        ])
        for (host, path, pattern) in [
            ("a.cdn.example:8443", "/shop/", "a.cdn.example:8443"), ("a.cdn.example", "/shop/", "a.cdn.example"),
            ("a.cdn.example", "/raw/x", "a.cdn.example/raw/"), ("b.cdn.example", "/shop/", "*.cdn.example"),
            ("cdn.example", "/shop/", "*.example"), ("example", "/shop/", "/shop/"), ("[::1]:80", "/x", "[::1]"),
        ] {
            #expect(table.value(authority: host, target: path) == pattern, "\(host)\(path)")
        }
        #expect(table.value(authority: "example", target: "/x") == nil)
    }

    @Test func `a host in a pattern belongs to the service, whatever its path`() throws {
        let table = try table(["photos.example/raw/", "*.cdn.example", "api.example:8443", "/"])
        for (host, isNamed) in [
            ("photos.example", true), ("PHOTOS.example.:9", true), ("a.cdn.example", true), ("cdn.example", false),
            ("api.example:8443", true), ("api.example", false), ("example.com", false), ("127.0.0.1", false),
            ("", false),
        ] {
            #expect(table.names(try #require(HostField(host.utf8))) == isNamed, "\(host)")
        }
    }

    @Test func `a host whose own paths do not match is served by the patterns for any`() throws {
        let table = try table(["a.example/raw/", "/shop/"])
        #expect(table.value(authority: "a.example", target: "/shop/x") == "/shop/")
        #expect(table.value(authority: "a.example", target: "/x") == nil)
    }

    @Test func `a missing port counts as 80`() throws {
        let table = try table(["a.example:80", "*.b.example:80"])
        #expect(table.value(authority: "a.example", target: "/") == "a.example:80")
        #expect(table.value(authority: "a.example:81", target: "/") == nil)
        #expect(table.value(authority: "x.b.example", target: "/") == "*.b.example:80")
        #expect(table.value(authority: "x.b.example:81", target: "/") == nil)
    }

    @Test(arguments: [
        "", "/shop", "a.example/shop", "//", "/a//b/", "/a/../b/", "/%2e%2e/", "/a?b/", "/image/", "/image/card/",
        "a.example/image/", "http://a/", "a b", "*.", "*.*.a", "*.127.0.0.1", ":80", "a:99999", "a@b", "/%zz/",
    ])
    func `an invalid origin pattern is refused`(text: String) {
        #expect(throws: OriginPattern.Failure.self) { try OriginPattern(text) }
    }

    @Test func `the path after a prefix is requested from the origin`() throws {
        let prefix = try #require(PathPrefix("/sh%6fp/"))
        #expect(prefix.text == "/shop/")
        #expect(prefix.rest(of: "/shop/a.jpg?b=/c") == "/a.jpg?b=/c")
        #expect(prefix.rest(of: "/%73hop/%7Ea%2fb") == "/~a%2Fb")
        #expect(prefix.rest(of: "/shop//x") == "//x")
        #expect(prefix.rest(of: "/shop/") == "/")
        for path in ["/shop", "/shopping/x", "/a/shop/x", "/shop/%zz"] {
            #expect(prefix.rest(of: path) == nil, "\(path)")
        }
        #expect(PathPrefix.root.rest(of: "/a?%zz") == "/a?%zz")
    }
}
