import DynamicLibraries
import Testing

@testable import HTTPSemantics

/// The URL type: RFC 3986 sections 3, 5 and 6.2.
struct HTTPURLTests {
    @Test(
        arguments: [
            ("HTTP://Example.ORG/a", "http://example.org/a"), ("http://example.org", "http://example.org/"),
            ("http://example.org?q", "http://example.org/?q"), ("http://example.org:80/a", "http://example.org/a"),
            ("https://example.org:443/a", "https://example.org/a"), ("http://example.org:/a", "http://example.org/a"),
            ("http://example.org:0080/a", "http://example.org/a"),
            ("http://example.org:081/", "http://example.org:81/"),
            ("http://example.org/%7Euser", "http://example.org/~user"),
            ("http://example.org/%7euser", "http://example.org/~user"),
            ("http://example.org/a%2fb", "http://example.org/a%2Fb"),
            ("http://example.org/a/./b/../c", "http://example.org/a/c"),
            ("http://example.org/a/%2E%2e/c", "http://example.org/c"),
            ("http://example.org/../../c", "http://example.org/c"), ("http://example.org/a/..", "http://example.org/"),
            ("http://example.org/a/.", "http://example.org/a/"), ("http://example.org/a#x%", "http://example.org/a"),
            ("http://example.org/a?b=%7e", "http://example.org/a?b=~"), ("http://a/b c?d e", "http://a/b%20c?d%20e"),
            ("http://example.org/é", "http://example.org/%C3%A9"), ("http://EX%41MPLE.org/", "http://example.org/"),
            ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]/"),
            ("http://[fe80::1%25Eth0]/", "http://[fe80::1%25Eth0]/"),
            ("http://u:p@a/", "http://a/"), ("http://a//b/..//c", "http://a///c"),
            ("http://a/%252e%252e/", "http://a/%252e%252e/"),
        ])
    func `equivalent URLs have one normal form`(given: String, normal: String) throws {
        let url = try HTTPURL(given)
        #expect(url.normalized == normal)
        #expect(try HTTPURL(normal).normalized == normal)
        #expect(try HTTPURL(url.text).normalized == normal)
        #expect(try HTTPURL(url.text).text == url.text)
    }

    @Test(
        arguments: [
            ("http://example.org/n/%2e%2E/pb", "http://example.org/pb"),
            ("http://example.org/n/.%2e/pb?/../q", "http://example.org/pb?/../q"),
            ("http://example.org/n/%2E", "http://example.org/n/"),
            ("http://example.org/%2e%2e%2e/%2ea/a%2e", "http://example.org/%2e%2e%2e/%2ea/a%2e"),
            ("http://example.org/%252e%252e/a", "http://example.org/%252e%252e/a"),
            ("http://example.org/%7euser/%c3%a9?%41=%2f+%20", "http://example.org/%7euser/%c3%a9?%41=%2f+%20"),
            ("http://example.org/a?b c", "http://example.org/a?b%20c"),
            ("http://User@Example.org:0080/a/../b?#f", "http://example.org/b?"),
            ("http://example.org", "http://example.org/"),
        ])
    func `a URL is sent without dot segments, and otherwise as it was given`(given: String, sent: String) throws {
        let url = try HTTPURL(given)
        #expect(url.text == sent)
        #expect(try HTTPURL(sent).text == sent)
        #expect(try HTTPURL(sent).normalized == url.normalized)
    }

    @Test func `a URL is split into its parts`() throws {
        let url = try HTTPURL("https://me:p%40ss@B%C3%BCcher.example:8443/a%7e/b?c=%7E#d")
        #expect(url.scheme == .https)
        #expect(url.userinfo == "me:p%40ss")
        #expect(url.host == "xn--bcher-kva.example")
        #expect(url.port == 8443)
        #expect(url.origin == "https://xn--bcher-kva.example:8443")
        #expect(url.target == "/a%7e/b?c=%7E")
        #expect(url.path == "/a~/b")
        #expect(url.query == "c=~")
        let plain = try HTTPURL("http://a.example/b?c")
        #expect((plain.host, plain.port, plain.origin) == ("a.example", 80, "http://a.example"))
        #expect((plain.target, plain.path, plain.query) == ("/b?c", "/b", "c"))
        #expect(try HTTPURL("http://a").query == nil)
        #expect(try HTTPURL("http://a?").hasEmptyQuery && !HTTPURL("http://a?b").hasEmptyQuery)
    }

    @Test(
        arguments: [
            ("", .notAbsolute), ("::", .notAbsolute), ("/path", .notAbsolute), ("a b", .notAbsolute),
            ("http:", .notAbsolute),
            ("http:/a", .notAbsolute), ("mailto:a@b", .scheme("mailto")), ("ftp://h/", .scheme("ftp")),
            ("http://", .host), ("http:///a", .host), ("http://?", .host), ("http://a b/", .host),
            ("http://a%2fb/", .host),
            ("http://a\\b/", .host), ("http://a\\@b/", .host), ("http://[::1/", .host), ("http://[g]/", .host),
            ("http://a]/", .host), ("http://u@/", .host), ("http://a<b/", .host), ("http://%00/", .host),
            ("http://a:b/", .port), ("http://a:0/", .port), ("http://a:65536/", .port), ("http://a:8:8/", .port),
            ("http://a/\u{0}", .controlCharacter), ("http://a/b\n", .controlCharacter),
            ("http://a/\u{7F}", .controlCharacter),
            ("http://a/%", .percent), ("http://a/%4", .percent), ("http://a/%zz", .percent),
            ("http://a/?q=100%", .percent),
            ("http://a/%%36%31dmin", .percent), ("http://u%:p@a/", .percent), ("http://a%/", .percent),
        ] as [(String, InvalidURL.Reason)])
    func `a text that is not an absolute http or https URL is refused with a reason`(
        text: String, reason: InvalidURL.Reason
    ) {
        let error = #expect(throws: InvalidURL.self) { try HTTPURL(text) }
        #expect(error?.reason == reason)
    }

    @Test(
        arguments: [
            ("http://bücher.example/", "xn--bcher-kva.example"), ("http://BÜCHER.example/", "xn--bcher-kva.example"),
            ("http://b%C3%BCcher.example/", "xn--bcher-kva.example"), ("http://faß.example/", "xn--fa-hia.example"),
            ("http://例え.テスト/", "xn--r8jz45g.xn--zckzah"), ("http://bu\u{308}cher。example/", "xn--bcher-kva.example"),
            ("http://ｅｘ.example/", "ex.example"),
        ])
    func `host names beyond ASCII become A-labels`(url: String, host: String) throws {
        #expect(try HTTPURL(url).host == host)
    }

    @Test(arguments: [
        "http://a／b.example/", "http://\u{200B}/", "http://-ü-.example/", "http://a\u{FFFD}b/", "http://％41/",
    ])
    func `host names that have no form in ASCII are refused`(url: String) {
        #expect(throws: InvalidURL.self) { try HTTPURL(url) }
    }

    @Test func `a host name beyond ASCII is an error that names it if libidn2 is missing`() throws {
        let library = DynamicLibrary("libimgcache-missing.so.0", InternationalName.Functions.init)
        let error = try #require(throws: InvalidURL.self) {
            try InternationalName.ascii("bücher.example", library: library)
        }
        guard case .internationalName = error.reason else {
            Issue.record("\(error.reason)")
            return
        }
        #expect("\(error)".contains("libidn2") && "\(error)".contains("bücher.example"), "\(error)")
        // A library without its functions is no libidn2.
        #expect(DynamicLibrary("libc.so.6", InternationalName.Functions.init).functions() == nil)
    }

    @Test(
        arguments: [
            ("https://b/c", "https://b/c"), ("//b/c", "http://b/c"), ("/c/./d", "http://a/c/d"), ("e", "http://a/x/e"),
            ("../e?f", "http://a/e?f"), ("?q", "http://a/x/y?q"), ("", "http://a/x/y?z"), ("#f", "http://a/x/y?z"),
            (".", "http://a/x/"), ("e:f/..", nil), ("c d", "http://a/x/c%20d"), ("/100%", "http://a/100%25"),
            ("/%%36%31", "http://a/%25%36%31"), ("http://", nil), ("//", nil), ("javascript:alert(1)", nil),
        ] as [(String, String?)])
    func `a reference is resolved against its base URL`(reference: String, text: String?) throws {
        let base = try HTTPURL("http://u:p@a/x/y?z")
        let url = try? HTTPURL(reference: reference, relativeTo: base)
        #expect(url?.text == text)
        #expect(url?.userinfo == nil)
        guard let url else { return }
        #expect(try HTTPURL(url.text).text == url.text)
        #expect(try HTTPURL(url.normalized).normalized == url.normalized)
    }

    @Test func `normalizing a URL twice gives the same as normalizing it once`() throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = Pieces(state: seed)
        var (valid, plain) = (0, 0)
        for _ in 0..<20_000 {
            let text = random.url()
            guard let url = try? HTTPURL(text) else { continue }
            valid += 1
            let again = try HTTPURL(url.normalized)
            try #require(again.normalized == url.normalized && again.text == url.normalized, "seed \(seed): \(text)")
            let sent = try HTTPURL(url.text)
            try #require(sent.text == url.text && sent.normalized == url.normalized, "seed \(seed): \(text)")
            try #require(!DotSegments.occur(in: url.path.utf8) && url.path.first == "/", "seed \(seed): \(text)")
            // A reference is read more mildly, and no differently where both are allowed.
            try #require(try HTTPURL(reference: text, relativeTo: url).text == url.text, "seed \(seed): \(text)")
            // The quick way and the long one agree.
            let parsed = try URLParser(text, strayPercents: .refused)
            try #require(url.normalized.hasSuffix(parsed.normalizedTarget), "seed \(seed): \(text)")
            if PlainURL(text) != nil {
                let port = parsed.port ?? parsed.scheme.defaultPort
                try #require((url.host, url.port) == (parsed.host, port), "seed \(seed): \(text)")
                try #require(url.text == text && url.target == parsed.target, "seed \(seed): \(text)")
                plain += 1
            }
        }
        #expect(valid > 1000 && plain > 100, "seed \(seed)")
    }

    @Test func `a stray percent sign of a redirect never joins what follows it when decoded`() throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = Pieces(state: seed)
        let base = try HTTPURL("http://a/b/c")
        for _ in 0..<20_000 {
            let text = random.pieces(["%", "%2", "5", "2e", "6", "1", "%25", ".", "/", "%2f", "?", "a"])
            guard let url = try? HTTPURL(reference: text, relativeTo: base) else { continue }
            try #require(try HTTPURL(url.normalized).normalized == url.normalized, "seed \(seed): \(text)")
            try #require(try HTTPURL(url.text).normalized == url.normalized, "seed \(seed): \(text)")
        }
    }

    @Test(arguments: [
        "http://example.org", "http://example.org:80/a", "https://example.org:443/", "http://example.org:08/",
        "http://example.org:/", "http://example.org:65536/", "http://example.org:8", "http://example.org:8a/",
        "http://Example.org/", "http://u@example.org/", "http:///a",
        "http://example.org/.a", "http://example.org/%7e", "http://example.org/a#b", "http://example.org/a b",
        "example.org/",
    ])
    func `a URL that may need normalizing is not a plain URL`(url: String) {
        #expect(PlainURL(url) == nil)
    }
}

/// URLs of random pieces and bytes.
private struct Pieces {
    var state: UInt64

    mutating func next(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(bound))
    }

    mutating func pieces(_ all: [String]) -> String {
        (0..<(1 + next(8))).map { _ in all[next(all.count)] }.joined()
    }

    mutating func url() -> String {
        let start = ["http://", "https://", "HTTP://", "http://a", "http://a/", "https://a.b:8/", "http://a:8"][next(7)]
        guard next(4) > 0 else {
            return start + String(decoding: (0..<next(12)).map { _ in UInt8(next(256)) }, as: UTF8.self)
        }
        return start
            + pieces([
                "a", "b.c", "Z", "7", ".", "..", "/", "/.", "//", "?", "#", "%7e", "%2F", "%2e", "%252e", "%", "%2",
                "@",
                ":", ":80", "-", "_", "~", " ", "é", "[", "]", "[::1]", "&c=1", "\\", ";", "+", "%00", "%41", "%C3%BC",
            ])
    }
}
