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
    func `what authorises in a URL is not shown`(text: String, expected: String) {
        #expect(MaskedText.masked(text) == expected)
    }

    @Test(arguments: [
        "Authorization", "proxy-authorization", "COOKIE", "Set-Cookie", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "apikey",
        "X-Auth-Token", "Private-Token", "X-Vault-Token", "X-Amz-Security-Token", "Ocp-Apim-Subscription-Key",
        "X-Access-Key", "X-Functions-Key", "X-Amz-Server-Side-Encryption-Customer-Key", "X-Password", "X_SECRET",
        "X-Signature", "X-Session-Id", "Key",
    ])
    func `a field that authorises its holder is secret`(name: String) {
        #expect(SecretNames.isField(name))
    }

    @Test(arguments: [
        "Accept", "Surrogate-Key", "X-Cache-Key", "Idempotency-Key", "WWW-Authenticate", "ETag", "Content-Type", "Location",
        "X-RateLimit-Remaining-Tokens", "Sec-WebSocket-Key", "X-Amz-Id-2", "Keep-Alive",
    ])
    func `a field that helps to find a mistake is shown`(name: String) {
        #expect(!SecretNames.isField(name))
    }
}
