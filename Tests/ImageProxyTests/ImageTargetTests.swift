import ImageCache
import Testing

@testable import ImageProxy

@Suite("An image's URL")
struct ImageTargetTests {
    @Test func `an image target has options before the path and keeps the origin's query`() throws {
        for (target, options, path) in [
            ("w=1/a.jpg", "w=1", "/a.jpg"), ("w=1,h=2/a/b.jpg?w=5,x=/y", "w=1,h=2", "/a/b.jpg?w=5,x=/y"),
            ("w=1//a.jpg", "w=1", "//a.jpg"), ("w=1/.a/..b/c..?q=/../x", "w=1", "/.a/..b/c..?q=/../x"),
            ("w=1/https", "w=1", "/https"), ("w=1/https:", "w=1", "/https:"), ("w=1/https:a", "w=1", "/https:a"),
            ("w=1/é:/a", "w=1", "/é:/a"),
            ("w=1/a/https://b/c", "w=1", "/a/https://b/c"),
        ] {
            let parsed = try ImageTarget(target[...])
            #expect(parsed.options == options && parsed.original == .path(path), "\(target)")
        }
    }

    @Test func `an image target may name another host, even with one slash instead of two`() throws {
        for (target, url, host, port) in [
            ("w=1/https://b.example/c.jpg?d", "https://b.example/c.jpg?d", "b.example", 443),
            ("w=1/http://b.example/", "http://b.example/", "b.example", 80),
            ("w=1/https:/b.example/c", "https://b.example/c", "b.example", 443),
            ("w=1/HTTPS://B.Example:8443/C", "https://b.example:8443/C", "b.example", 8443),
            ("w=1/http://b.example", "http://b.example/", "b.example", 80),
            ("w=1/http://b.example?x=1", "http://b.example/?x=1", "b.example", 80),
            ("w=1/http://[::1]:81/a", "http://[::1]:81/a", "[::1]", 81),
            ("w=1/http://2130706433/a", "http://2130706433/a", "2130706433", 80),
        ] {
            let parsed = try ImageTarget(target[...])
            #expect(parsed.original == .url(url, AddressPolicy.Endpoint(host: host, port: port)), "\(target)")
        }
    }

    @Test(arguments: [
        "", "w=1", "w=1/", "/a.jpg", "w=1?x/a", "w=1/../a", "w=1/a/..", "w=1/./a", "w=1/%2e%2E/a", "w=1/a/.%2e?x",
        "w=1/https://b.example/../a",
    ])
    func `an invalid image target is refused`(target: String) {
        #expect(throws: ImageOptionError.self) { try ImageTarget(target[...]) }
    }

    @Test(arguments: [
        "https://", "https:///a", "https://user@b.example/", "https://user:pw@b.example/a", "https://b.example:/a",
        "https://b.example:0/a", "https://b.example:65536/a", "https://b.example:+80/a", "https://b%2eexample/a",
        "https://b.example\\@c/a", "https://[::1/a", "https://::1/a", "https://b.example:80:80/a", "ftp://a/b",
        "file:///etc/passwd", "file:/etc/passwd", "gopher://127.0.0.1:70/", "x-y+z.1:/a",
    ])
    func `an image target with another scheme or an ambiguous host is invalid`(url: String) throws {
        #expect(try ImageTarget("w=1/\(url)").original == .invalidURL)
    }

    @Test func `an image target may name only allowed hosts and ports`() {
        let hosts = AllowedHosts(["a.example", "B.example:8443", "*.c.example", "[::1]:81"])
        func isAllowed(_ authority: String, scheme: String = "https") -> Bool {
            AddressPolicy.Endpoint(authority: authority, scheme: scheme).map(hosts.contains) ?? false
        }
        for authority in [
            "a.example", "A.EXAMPLE:443", "a.example:80", "b.example:8443", "x.c.example", "x.y.c.example", "[::1]:81",
        ] {
            #expect(isAllowed(authority), "\(authority)")
        }
        for authority in [
            "a.example:81", "a.example.", "xa.example", "a.example.evil", "b.example", "c.example", "xc.example",
            ".c.example",
            "[::1]", "x.c.example:81", "",
        ] {
            #expect(!isAllowed(authority), "\(authority)")
        }
        #expect(AllowedHosts([]).isEmpty)
    }
}
