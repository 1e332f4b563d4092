import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Testing

/// `No-Vary-Search`, by the tables of draft-ietf-httpbis-no-vary-search-10.
struct SearchVarianceTests {
    private func parsed(_ value: String) -> SearchVariance? {
        HTTPField.Name("No-Vary-Search").flatMap { SearchVariance([$0: value]) }
    }

    private static let url = "https://a.example/f"

    @Test(
        arguments: [
            "key-order=\"not a boolean\"", "params=\"not an inner list\"", "params=(not-a-string)",
            "params=(\"a\"), except=(\"x\")",
            "params=(), except=()", "except=\"not an inner list\"", "except=(not-a-string)", "except=?1",
            "params=?0, except=(\"x\")",
            "params=()", "key-order=?0", "params=?0", "params=(\"a\"", "", "unknown",
        ])
    func `what is not valid, or says nothing, leaves every difference its meaning`(value: String) {
        #expect(parsed(value) == nil)
    }

    @Test func `a field that is too long to be read leaves every difference its meaning`() {
        let names = (0..<2000).map { "\"a\($0)\"" }.joined(separator: " ")
        #expect(parsed("params=(\(names))") == nil)
        #expect(parsed("key-order, " + (0..<2000).map { "k\($0)" }.joined(separator: ",")) == nil)

    }

    @Test(
        arguments: [
            // value, one query, another
            ("key-order", "?a=1&b=2", "?b=2&a=1"), ("key-order=?1", "?a=1&b=2", "?b=2&a=1"),
            ("params=(\"a\")", "?a=1&b=2", "?b=2"), ("params=(\"a\")", "?a=1", ""),
            ("except=(\"x\")", "?a=1&x=2&b", "?x=2"), ("except=(\"x\"), key-order", "?y&x=2", "?x=2&z"),
            ("except=()", "?a=1", ""), ("params", "?a=1", "?b=2"), ("params, except=(\"x\")", "?a=1&x=2", "?x=2&b=4"),
            // Form data: section 5.
            ("key-order", "", "?"), ("key-order", "?a=x", "?%61=%78"), ("key-order", "?a=\u{E9}", "?a=%C3%A9"),
            ("key-order", "?a=%f6", "?a=%ef%bf%bd"), ("key-order", "?a=x&&&&", "?a=x"), ("key-order", "?a=", "?a"),
            ("key-order", "?a=%20", "?a=+&"),
            ("params=(\"%C3%A9+%E6%B0%97\")", "?%C3%A9%20%E6%B0%97=3", "?%C3%A9+%E6%B0%97=4"),
        ])
    func `URLs are equivalent by the field`(value: String, one: String, other: String) throws {
        let variance = try #require(parsed(value))
        let pair = (HTTPURL.normalized(Self.url + one), HTTPURL.normalized(Self.url + other))
        #expect(variance.isEquivalent(pair.0, pair.1))
        #expect(variance.canonical(variance.canonical(pair.0)) == variance.canonical(pair.0))
    }

    @Test(
        arguments: [
            ("key-order", "?a=1&a=2", "?a=2&a=1"), ("key-order", "?a=1", "?a=2"),
            ("params=(\"a\")", "?b=1&c=2", "?c=2&b=1"),
            ("params=(\"a\")", "?A=1", "?A=2"), ("except=(\"x\")", "?x=1", "?x=2"),
            ("except=(\"x\")", "?x=1&x=2", "?x=2&x=1"),
            ("key-order", "?a=%C3%A9", "?a=e%CC%81"), ("params=(\"%C3%A9\")", "?e%CC%81=1", "?e%CC%81=2"),
        ])
    func `other differences keep their meaning`(value: String, one: String, other: String) throws {
        let variance = try #require(parsed(value))
        #expect(!variance.isEquivalent(Self.url + one, Self.url + other))
    }

    @Test func `scheme, host and path are always compared`() throws {
        let variance = try #require(parsed("params"))
        #expect(!variance.isEquivalent("https://a.example/f?a", "https://a.example/g?a"))
        #expect(!variance.isEquivalent("https://a.example/f?a", "https://b.example/f?a"))
    }
}
