import HTTPCaching
import HTTPSemantics
import Testing

@Suite("The key, RFC 9111 2 and RFC 3986 6.2")
struct KeyTests {
    @Test(arguments: [
        ("HTTP://Example.ORG/a", "http://example.org/a"),
        ("http://example.org", "http://example.org/"),
        ("http://example.org?q", "http://example.org/?q"),
        ("http://example.org:80/a", "http://example.org/a"),
        ("https://example.org:443/a", "https://example.org/a"),
        ("http://example.org:/a", "http://example.org/a"),
        ("http://example.org:0080/a", "http://example.org/a"),
        ("http://example.org/%7Euser", "http://example.org/~user"),
        ("http://example.org/%7euser", "http://example.org/~user"),
        ("http://example.org/a%2fb", "http://example.org/a%2Fb"),
        ("http://example.org/a/./b/../c", "http://example.org/a/c"),
        ("http://example.org/a/%2E%2e/c", "http://example.org/c"),
        ("http://example.org/../../c", "http://example.org/c"),
        ("http://example.org/a/..", "http://example.org/"),
        ("http://example.org/a/.", "http://example.org/a/"),
        ("http://example.org/a#fragment", "http://example.org/a"),
        ("http://example.org/a?b=%7e", "http://example.org/a?b=~"),
        ("http://example.org/é", "http://example.org/%C3%A9"),
        ("http://EX%41MPLE.org/", "http://example.org/"),
        ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]/"),
    ])
    func `RFC 3986 6.2.2-6.2.3: equivalent URLs have one key`(one: String, other: String) {
        #expect(HTTPURL.normalized(one) == other)
        #expect(HTTPURL.normalized(other) == other)
    }

    @Test(arguments: [
        ("http://example.org/a?b=1&c=2", "http://example.org/a?c=2&b=1"),
        ("http://example.org/a", "http://example.org/a/"),
        ("http://example.org/a", "http://example.org/A"),
        ("http://example.org/a", "http://example.org/a?"),
        ("http://example.org/a", "https://example.org/a"),
        ("http://example.org/a", "http://example.org:8080/a"),
        ("https://example.org/a", "https://example.org:80/a"),
        ("http://example.org/a/b", "http://example.org/a%2Fb"),
        ("http://example.org/a//b", "http://example.org/a/b"),
        ("http://example.org/a", "http://user@example.org/a"),
        ("http://example.org/a+b", "http://example.org/a%20b"),
        ("http://example.org/%", "http://example.org/%25"),
    ])
    func `RFC 3986 6.2.2-6.2.3: what may mean something is kept`(one: String, other: String) {
        #expect(HTTPURL.normalized(one) != HTTPURL.normalized(other))
    }

    @Test(arguments: ["", "::", "a b", "mailto:a@b", "/path", "?", "#", "http:"])
    func `what is no absolute URL is its own key`(text: String) {
        #expect(HTTPURL.normalized(text) == text)
    }
}
