import HTTPSemantics
import TestSupport
import Testing

@testable import imgcache

/// The paths of `--tree`.
struct TreePathTests {
    @Test(arguments: [
        ("http://a.example/x/y.bin", "a.example/x/y.bin"), ("https://A.example:443/x", "a.example/x"),
        ("http://a:8080/x", "a:8080/x"), ("http://a/", "a/index.html"), ("http://a", "a/index.html"),
        ("http://a/d/", "a/d/index.html"), ("http://a/x%20y/%C3%BC", "a/x y/ü"),
        ("http://a/x?b=1&c=/../d", "a/x?b=1&c=%2F..%2Fd"),
        ("http://a/x%2Fy", "a/x%2Fy"), ("http://a/x%3Fy", "a/x%3Fy"), ("http://a/x%2525", "a/x%2525"),
        ("http://a//b", "a/%/b"), ("http://a/../../etc/passwd", "a/etc/passwd"), ("http://a/%2e%2e/%2e%2e/x", "a/x"),
        ("http://a/..%2f..%2fx", "a/..%2F..%2Fx"), ("http://a/%FF/x", "a/%FF/x"), ("http://a/x%0Ay", "a/x%0Ay"),
        ("http://a/.../x", "a/.../x"), ("http://../x", "%2E./x"), ("http://./x", "%2E/x"),
        ("http://..:81/x", "..:81/x"), ("http://.imgcache/x", "%2Eimgcache/x"), ("http://[::1]:80/x", "[::1]/x"),
        ("http://u:p@a/x#f", "a/x"),
    ])
    func `a URL maps to a path below its host`(url: String, path: String) throws {
        #expect(try TreePath.path(of: url) == path)
    }

    @Test func `no two URLs map to one path, and no path leaves the tree`() throws {
        let parts = [
            "a", "b", "%2F", "%2E", ".", "..", "%", "%25", "?", "/", "//", "%00", "x%3Fy", "%C3%A9", "é", "%FF", "~",
            "\\",
        ]
        let hosts = ["h", "h", "h", ".", "..", "...", ".imgcache", "..:81", "[::1]"]
        var generator = SeededGenerator(for: "paths of a tree")
        var urls: [String: String] = [:]
        for _ in 0..<20_000 {
            let tail = (0..<Int.random(in: 0..<7, using: &generator)).map { _ in
                parts.randomElement(using: &generator) ?? ""
            }
            let url = "http://\(hosts.randomElement(using: &generator) ?? "h")/" + tail.joined()
            guard let parsed = try? HTTPURL(url), let path = try? TreePath.path(of: url) else { continue }
            let names = path.split(separator: "/", omittingEmptySubsequences: false)
            #expect(names.allSatisfy { !["", ".", "..", ".imgcache"].contains($0) && $0.utf8.count <= 255 }, "\(path)")
            if let other = urls[path] { #expect(other == parsed.normalized, "\(path)") }
            urls[path] = parsed.normalized
        }
    }

    @Test func `long names in a tree are shortened and remain distinct`() throws {
        let long = String(repeating: "x", count: 400)
        let (one, other) = (try TreePath.path(of: "http://a/\(long)1"), try TreePath.path(of: "http://a/\(long)2"))
        #expect(one != other && one.utf8.count < 260)
    }
}
