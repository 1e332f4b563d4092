import Testing

@testable import HTTPCaching

@Suite struct PlainURLTests {
    @Test func `a URL that looks normal at a glance is normal: 20,000 random ones`() {
        let seed = UInt64.random(in: .min ... .max)
        var state = seed
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        let pieces = [
            "a", "b", "Z", "7", ".", "..", "/", "/.", "//", "?", "#", "%7e", "%2F", "@", ":", ":80", "-", "_", "~", " ",
            "é", "[",
            "&c=1", "\\",
        ]
        var plain = 0
        for _ in 0..<20_000 {
            var url = ["http://", "https://", "HTTP://", "http:/"][next(8) % 4 == 3 ? 3 : next(3)]
            for _ in 0..<(1 + next(6)) {
                url += next(3) == 0 ? pieces[next(pieces.count)] : ["a", "b", "/", "x.y"][next(4)]
            }
            guard CacheKey.isPlain(url) else { continue }
            plain += 1
            #expect(CacheKey.normalizedByParts(url) == url, "seed \(seed)")
        }
        #expect(plain > 100, "seed \(seed)")
    }

    @Test(arguments: [
        "http://example.org", "http://example.org:80/a", "http://Example.org/", "http://u@example.org/", "http:///a",
        "http://example.org/.a", "http://example.org/%7e", "http://example.org/a#b", "http://example.org/a b",
        "example.org/",
    ])
    func `what may need a change is looked at closely`(url: String) {
        #expect(!CacheKey.isPlain(url))
    }
}
