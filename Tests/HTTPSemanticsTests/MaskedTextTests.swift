import HTTPSemantics
import Testing

struct MaskedTextTests {
    @Test(arguments: [
        (
            "/a.jpg?v=2&imgcache-kid=1&imgcache-exp=9&imgcache-sig=tzLUe-_x",
            "/a.jpg?v=2&imgcache-kid=1&imgcache-exp=9&imgcache-sig=***"
        ),
        ("/a?X-Amz-Signature=abc&x=y", "/a?X-Amz-Signature=***&x=y"),
        ("/a?%73ig=abc", "/a?%73ig=***"),
        ("/a?SIG=a%26b,c;d)e#f", "/a?SIG=***#f"),
        ("/a?x=1?token=abc&sig", "/a?x=1?token=***&sig"),
        ("/a?sig==a=b", "/a?sig=***"),
        ("/a?sig=", "/a?sig=***"),
        ("/a?assign=b&design=c", "/a?assign=b&design=c"),
        ("/a?b", "/a?b"),
        (
            "http://a/b?sig=1 answered \"http://c/d?token=2\" and <http://e/?key=3>",
            "http://a/b?sig=*** answered \"http://c/d?token=***\" and <http://e/?key=***>"
        ),
    ])
    func `secrets in a URL are masked`(text: String, expected: String) {
        #expect(MaskedText.masked(text) == expected)
    }

    @Test(arguments: [
        "Authorization", "proxy-authorization", "COOKIE", "Set-Cookie", "X-Api-Key", "Api-Key", "X-Goog-Api-Key",
        "apikey",
        "X-Auth-Token", "Private-Token", "X-Vault-Token", "X-Amz-Security-Token", "Ocp-Apim-Subscription-Key",
        "X-Access-Key", "X-Functions-Key", "X-Amz-Server-Side-Encryption-Customer-Key", "X-Password", "X_SECRET",
        "X-Signature", "X-Session-Id", "Key",
    ])
    func `a field that authorises its holder is secret`(name: String) {
        #expect(SecretNames.isField(name))
    }

    @Test(arguments: [
        "Accept", "Surrogate-Key", "X-Cache-Key", "Idempotency-Key", "WWW-Authenticate", "ETag", "Content-Type",
        "Location",
        "X-RateLimit-Remaining-Tokens", "Sec-WebSocket-Key", "X-Amz-Id-2", "Keep-Alive",
    ])
    func `a field that helps to find an error is shown`(name: String) {
        #expect(!SecretNames.isField(name))
    }

    @Test(arguments: [
        ("http://user:password@a.example/b failed", "http://***@a.example/b failed"),
        ("(https://token@a.example)", "(https://***@a.example)"),
        ("a@example.com wrote", "a@example.com wrote"),
        ("X-Api-Key: secret words\nHost: a", "X-Api-Key: ***\\u{a}Host: a"),
        ("sent authorization: Bearer abc", "sent authorization: ***"),
        ("Set-Cookie: a=b; Path=/", "Set-Cookie: ***"),
        ("X-Amz-Security-Token:abc", "X-Amz-Security-Token: ***"),
        (#"{"Private-Token": "abc"}"#, #"{"Private-Token": ***"#),
        ("Content-Type: text/plain", "Content-Type: text/plain"),
        ("the host 127.0.0.1:8080 is down: refused", "the host 127.0.0.1:8080 is down: refused"),
    ])
    func `users, passwords and fields that authorise are not shown`(text: String, expected: String) {
        #expect(MaskedText.masked(text) == expected)
    }

    @Test func `characters that are invisible or change the direction of text are escaped`() {
        #expect(MaskedText.masked("a\u{202E}gpj.exe") == "a\\u{202e}gpj.exe")
        for value in [0x00, 0x0A, 0x1B, 0x7F, 0x85, 0x9B, 0x200B, 0x200F, 0x2028, 0x202A, 0x2066, 0x2069, 0xFEFF] {
            let scalar = String(Unicode.Scalar(UInt32(value)).map(Character.init) ?? " ")
            #expect(MaskedText.visible(scalar) == "\\u{\(String(value, radix: 16))}")
        }
        let plain = "Grüße, 日本語, \u{1F600} e\u{301}"
        #expect(MaskedText.masked(plain) == plain)
    }
}
