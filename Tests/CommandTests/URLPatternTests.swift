import Testing

@testable import imgcache

@Suite("A URL with ranges and alternatives")
struct URLPatternTests {
    @Test(arguments: [
        ("http://h/a", ["http://h/a"]), ("http://h/[1-3]", ["http://h/1", "http://h/2", "http://h/3"]),
        ("http://h/[08-10].png", ["http://h/08.png", "http://h/09.png", "http://h/10.png"]),
        ("http://h/[0-20:10]", ["http://h/0", "http://h/10", "http://h/20"]),
        ("http://h/[a-c:2]", ["http://h/a", "http://h/c"]),
        ("http://h/{x,y}/[1-2]", ["http://h/x/1", "http://h/x/2", "http://h/y/1", "http://h/y/2"]),
        ("http://h/{,s}", ["http://h/", "http://h/s"]),
        ("http://[::1]:80/[1-2]", ["http://[::1]:80/1", "http://[::1]:80/2"]),
        ("http://h/[3-1]", ["http://h/[3-1]"]), ("http://h/{one}", ["http://h/{one}"]),
        ("http://h/[1-", ["http://h/[1-"]),
        ("http://h/[1-2:0]", ["http://h/[1-2:0]"]), ("http://h/[a-3]", ["http://h/[a-3]"]),
    ])
    func `a URL pattern expands with the last range fastest and keeps other brackets`(pattern: String, urls: [String]) {
        #expect(URLPattern.urls(pattern) == urls)
    }

    @Test(arguments: ["http://h/[0-100000]", "http://h/[1-1000]/[1-1000]", "http://h/[0-9223372036854775807]"])
    func `a URL pattern that expands to more than 100,000 URLs is refused`(pattern: String) {
        #expect(URLPattern.urls(pattern) == nil)
        #expect(URLPattern.urls("http://h/[1-100000]")?.count == 100_000)
    }
}
