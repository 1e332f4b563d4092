import Testing

@testable import imgcache

@Suite("The name of a downloaded file")
struct OutputNameTests {
    @Test(arguments: [
        ("../../etc/passwd", "passwd"), ("..\\..\\boot.ini", "boot.ini"), (".bashrc", "bashrc"), ("-rf", "rf"),
        ("a\u{0}b\nc\u{1B}[31m.txt", "abc[31m.txt"), ("...", ""), ("/", ""), ("  name  ", "name"), ("a/", "a"),
        ("gpj.\u{202E}exe", "gpj.exe"), ("-.-x", "x"), ("ok name.tar.gz", "ok name.tar.gz"),
        ("trailing. .", "trailing"), ("a/\u{301}b", "\u{301}b"), (".\u{301}x", "\u{301}x"), ("x\\\u{301}y", "\u{301}y"),
    ])
    func `a suggested file name is harmless, whatever the server sends`(name: String, expected: String) {
        #expect(OutputName.sanitised(name) == expected)
    }

    @Test func `a suggested file name has at most 200 bytes and never ends inside a character`() {
        let name = OutputName.sanitised(String(repeating: "ü", count: 300))
        #expect(name.utf8.count <= 200 && name.allSatisfy { $0 == "ü" })
    }

    @Test(arguments: [
        ("attachment; filename=\"a b.jpg\"", "a b.jpg"), ("attachment; filename=plain.txt", "plain.txt"),
        ("inline; FileName = x.png ; foo=bar", "x.png"),
        ("attachment; filename=\"EURO.png\"; filename*=UTF-8''%e2%82%ac.png", "€.png"),
        ("attachment; filename*=utf-8'de'na%C3%AFve.txt", "naïve.txt"),
        ("attachment; filename=\"quo\\\"te.txt\"", "quo\"te.txt"),
        ("attachment; filename*=iso-8859-1''%a3.txt; filename=fallback.txt", "fallback.txt"),
    ])
    func `the file name comes from Content-Disposition first`(field: String, name: String) {
        #expect(OutputName.suggested(contentDisposition: field, url: "http://h/url.bin") == name)
    }

    @Test(arguments: [
        ("http://h/a/b.iso?x=/y.z#f/g", "b.iso"), ("http://h/a%20b.jpg", "a b.jpg"), ("http://h/", "download"),
        ("http://h", "download"), ("http://h/..%2F..%2Fx", "x"), ("http://h/dir/", "dir"), ("http://h/%ff", "%ff"),
    ])
    func `without Content-Disposition, the file name is the URL's last segment, decoded`(url: String, name: String) {
        #expect(OutputName.suggested(contentDisposition: nil, url: url) == name)
    }

    @Test(arguments: [
        "attachment", "attachment; filename=\"\"", "attachment; filename=\"..\"",
        "attachment; filename*=UTF-8''%ff",
    ])
    func `the file name comes from the URL if Content-Disposition is empty or malformed`(field: String) {
        #expect(OutputName.suggested(contentDisposition: field, url: "http://h/url.bin") == "url.bin")
    }
}

@Suite("A filter of ls")
struct EntryFilterTests {
    @Test func `a filter compares sizes, ages and URLs, and all of its terms must match`() throws {
        let filter = try #require(EntryFilter(argument: "size>1GB, age<=7d, url~iso"))
        #expect(filter.matches(size: 2_000_000_000, age: 3600, used: 0, url: "http://h/a.iso"))
        #expect(!filter.matches(size: 1_000_000_000, age: 3600, used: 0, url: "http://h/a.iso"))
        #expect(!filter.matches(size: 2_000_000_000, age: 700_000, used: 0, url: "http://h/a.iso"))
        #expect(!filter.matches(size: 2_000_000_000, age: 3600, used: 0, url: "http://h/a.img"))
    }

    @Test(arguments: [
        ("url=http://h/a,b", "http://h/a,b"), ("size>1,url=http://h/a?b=1,2&c=3", "http://h/a?b=1,2&c=3"),
        ("url~a,b,age<1d", "http://h/a,b"),
    ])
    func `a filter's URL may contain commas`(text: String, url: String) throws {
        let filter = try #require(EntryFilter(argument: text))
        #expect(filter.matches(size: 10, age: 0, used: 0, url: url))
        #expect(!filter.matches(size: 10, age: 0, used: 0, url: "http://h/a"))
    }

    @Test(arguments: ["", "url~a,weight>1", "size", "size>", "size>x", "weight>1", "size~1", "url>3"])
    func `a malformed filter is rejected`(text: String) { #expect(EntryFilter(argument: text) == nil) }
}
