import HTTPSemantics
import Testing

/// URLs below and outside of a base, in every reading by servers.
struct DecodedPathTests {
    private let base = "http://host/public"

    @Test(arguments: [
        "/", "", "/a", "/a/b.jpg", "/a%2fb", "/a%20b;v=1/c", "/%C3%A9", "/..a/b..", "/.../a", "/a?x=/../../private",
        "//a",
        "/a%5cb", "/%70ublic", "/100%25", "/a;b/c", "/a%252fb",
    ])
    func `a path that stays below the base in every reading is below it`(path: String) throws {
        #expect(try HTTPURL(base + path).isBelow(HTTPURL(base)))
        #expect(try HTTPURL(base + path).isBelow(HTTPURL(base + "/")))
        #expect(try HTTPURL(base + path).isBelow(HTTPURL("http://host")))
    }

    @Test(arguments: [
        "/%252e%252e/private/s.txt", "/%25252e%25252e/private/s.txt", "/..%2fprivate/s.txt", "/..%252fprivate/s.txt",
        "/..;/private/s.txt", "/..;a=b/private", "/%2e%2e;/private", "/\\..\\private/s.txt", "/..\\private",
        "/%5c..%5cprivate",
        "/a/..%5c..%5cprivate", "/%2e%2e%2fprivate", "/..%00/private", "/..%20/private", "/.%2509./private",
        "/%c0%ae%c0%ae/private", "/..%c0%afprivate", "/a%2f..%2f..%2fprivate", "/a%2f%2f..%2f..",
        "/a/%2e%2e%2f/..%3bx/b",
        "/../private/s.txt", "/%2e%2e/private/s.txt", "/../publicity", "/../public%2fa", "/../Public/a", "/.%2e",
    ])
    func `a path that leaves the base in some reading is not below it`(path: String) throws {
        #expect(try !HTTPURL(base + path).isBelow(HTTPURL(base)))
    }

    @Test func `another origin is not below a base, and a base without a path covers its whole origin`() throws {
        for other in ["https://host/public/a", "http://host:8080/public/a", "http://other/public/a"] {
            #expect(try !HTTPURL(other).isBelow(HTTPURL(base)))
        }
        #expect(try HTTPURL("http://host/%252e%252e/a").isBelow(HTTPURL("http://host/")))
    }

    @Test func `an escape that comes about by decoding is decoded too`() {
        #expect(DecodedPath("/%%32%65%%32%65/private".utf8).segments == [Array("..".utf8), Array("private".utf8)])
        #expect(DecodedPath("/%2%65%2%65/private".utf8).hasDotSegments)
        #expect(DecodedPath("/%25%32%35%32e./x".utf8).hasDotSegments)
        #expect(DecodedPath("/a%/b%2/%zz".utf8).segments.count == 3)
    }

    @Test func `escapes within escapes cost linear time`() {
        let path = "/%" + String(repeating: "25", count: 200_000) + "2e./"
        #expect(DecodedPath(path.utf8).hasDotSegments)
    }
}
