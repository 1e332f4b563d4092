import Testing

@testable import ImageCache

@Suite struct RemovalTargetTests {
    @Test(arguments: [
        (RemovalTarget.url("HTTP://Test:80/a#x"), "http://test/a", true),
        (.url("http://test/a"), "http://test/ab", false),
        (.url("http://ann:secret@test/a"), "http://test/a", true),
        (.prefix("http://test/1"), "http://test/10", true),
        (.prefix("http://test/1"), "http://test/2", false),
        (.url("key e\u{301}"), "key \u{E9}", false), (.url("key e\u{301}"), "key e\u{301}", true),
        (.prefix("key e"), "key e\u{301}", true), (.prefix("key \u{E9}"), "key e\u{301}", false),
        (.host("Test"), "https://test:8443/a", true),
        (.host("test"), "http://test?q", true),
        (.host("test"), "http://test.example/", false),
        (.host("est"), "http://test/", false),
        (.host("[::1]"), "http://[::1]:8080/a", true),
        (.host("[::1]"), "http://[::1]/a:b", true),
        (.host("B\u{DC}CHER.example"), "http://b\u{FC}cher.example/a", true),
        (.host("b\u{FC}cher.example"), "https://xn--bcher-kva.example:8443/a", true),
        (.host("xn--BCHER-kva.example"), "http://xn--bcher-kva.example/a", true),
        (.host("bucher.example"), "http://xn--bcher-kva.example/a", false),
        // The name with a final dot is another one in URLs, too.
        (.host("test."), "http://test./a", true), (.host("test."), "http://test/a", false),
        (.host("test:80"), "http://test/a", false), (.host("test/a"), "http://test/a", false),
    ])
    func `a removal target matches a URL in any spelling, a prefix, or a host`(
        target: RemovalTarget, url: String, isMeant: Bool
    ) {
        #expect(target.matcher(url) == isMeant)
    }

    @Test(arguments: [
        ("", true), ("cat", true), ("CAT jpg", true), ("jpg  cat", true), ("cat png", false),
        ("https://images.example.com/pets/cat%20one.jpg", true), ("cat%20one.jpgs", false), ("ж", false),
    ])
    func `a search finds URLs that hold all of its words, in any order and case`(words: String, isFound: Bool) {
        #expect(URLSearch(words).matches("https://images.example.com/pets/Cat%20one.jpg") == isFound)
    }

    @Test(arguments: [
        ("", true), ("cat.jpg", true), ("w=1", true), ("token=", true), ("token=s", false), ("ecre", false),
        ("sig", true), ("X-Amz-Signature=ab", false), ("cat ab12", false),
    ])
    func `a search does not find out a secret in a URL`(words: String, isFound: Bool) {
        let url = "https://images.example.com/cat.jpg?w=1&token=secret&X-Amz-Signature=ab12"
        #expect(URLSearch(words).matches(url) == isFound)
    }
}
