import Testing

@testable import URLSigning

@Suite("Signed URLs")
struct URLSignerTests {
    private let signer: URLSigner

    init() throws {
        signer = URLSigner(
            try SigningKeys(
                text:
                    "new:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\nold:/v79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA="
            ))
    }

    /// Computed by `printf '%s' "$text" | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102…1f -binary | basenc --base64url`.
    @Test func `a signed URL carries the HMAC of everything before the signature`() throws {
        #expect(
            try signer.sign(target: "/image/w=256/a.jpg?v=2", expiry: 1_795_000_000)
                == "/image/w=256/a.jpg?v=2&imgcache-kid=new&imgcache-exp=1795000000&imgcache-sig=tzLUeXsCqek7cIeQD0ob6Zlt-3dY-z2Qxo_0NuJl3yg"
        )
        #expect(
            try signer.sign(target: "/a")
                == "/a?imgcache-kid=new&imgcache-sig=_mpA3W-s10hh8MfVjcSE9RBgJWh3NDBXf4Vigf0Z2BU")
    }

    @Test(arguments: [
        "/", "/a", "/a?", "/a?b", "/a?b=1&c=2", "/a?b&", "/a?&", "/a//b?x=/?y", "/a?imgcache-sign=1",
        "/image/w=1,h=2/https://other.example/a.jpg?x=%20",
    ])
    func `verifying a signed URL returns its target without the signature's parameters`(target: String) throws {
        for (expiry, key) in [(nil, nil), (1000, "old"), (0, "new")] as [(Int64?, String?)] {
            let signed = try signer.sign(target: target, expiry: expiry, keyID: key)
            #expect(
                try signer.verify(target: signed, now: 0)
                    == VerifiedTarget(target: target, keyID: key ?? "new", expiry: expiry))
        }
    }

    @Test func `a signed URL is valid until the last second of its expiry`() throws {
        let signed = try signer.sign(target: "/a", expiry: 1000)
        #expect(try signer.verify(target: signed, now: 1000).expiry == 1000)
        #expect(throws: SignatureError.expired(at: 1000)) { try signer.verify(target: signed, now: 1001) }
    }

    @Test func `a signed URL with any changed byte is refused`() throws {
        let signed = try signer.sign(target: "/a?b=1", expiry: 1000, keyID: "old")
        for index in signed.indices {
            for other in ["A", "0", "&", "=", "?", "-"] where signed[index] != Character(other) {
                var changed = signed
                changed.replaceSubrange(index...index, with: other)
                #expect(throws: SignatureError.self, "\(changed)") { try signer.verify(target: changed, now: 0) }
            }
            var shortened = signed
            shortened.remove(at: index)
            #expect(throws: SignatureError.self, "\(shortened)") { try signer.verify(target: shortened, now: 0) }
        }
        #expect(throws: SignatureError.self) { try signer.verify(target: signed + "&c=2", now: 0) }
        #expect(throws: SignatureError.self) { try signer.verify(target: signed + "A", now: 0) }
    }

    @Test func `a refused URL has the reason`() throws {
        let signature = "imgcache-sig=" + String(repeating: "A", count: 43)
        let table: [(String, SignatureError)] = [
            ("/a", .missing), ("/a?b=1", .missing), ("/imgcache-sig=x", .missing), ("/a?\(signature)x", .malformed),
            ("/a?imgcache-kid=new", .malformed), ("/a?imgcache-exp=5", .malformed),
            ("/a?\(signature)", .malformed), ("/a?imgcache-kid=&\(signature)", .malformed),
            ("/a?imgcache-kid=new&imgcache-sig=", .malformed), ("/a?imgcache-kid=new&imgcache-sig=AAAA", .malformed),
            ("/a?imgcache-kid=new&imgcache-exp=&\(signature)", .malformed),
            ("/a?imgcache-kid=new&imgcache-exp=-5&\(signature)", .malformed),
            ("/a?imgcache-kid=new&imgcache-exp=05&\(signature)", .malformed),
            ("/a?imgcache-kid=new&imgcache-exp=9999999999999&\(signature)", .malformed),
            ("/a?imgcache-exp=5&imgcache-kid=new&\(signature)", .malformed),
            ("/a?imgcache-kid=old&imgcache-kid=new&\(signature)", .malformed),
            ("/a?imgcache-kid=new&\(signature)&imgcache-kid=new&\(signature)", .malformed),
            ("/a&imgcache-kid=new&\(signature)?imgcache-kid=new", .malformed),
            ("/a?ximgcache-kid=new&\(signature)", .malformed), ("/a/imgcache-kid=new&\(signature)", .missing),
            ("/a?imgcache-kid=third&\(signature)", .unknownKey("third")),
            ("/a?imgcache-kid=new&\(signature)", .wrong),
            // Without a valid signature, the expiry is not evaluated.
            ("/a?imgcache-kid=new&imgcache-exp=5&\(signature)", .wrong),
        ]
        for (target, refusal) in table {
            #expect(throws: refusal, "\(target)") { try signer.verify(target: target, now: 1000) }
        }
    }

    @Test func `another key of the same name gives another signature`() throws {
        let other = URLSigner(
            try SigningKeys([SigningKey(id: "new", secret: [UInt8](repeating: 1, count: 32))]))
        let signed = try other.sign(target: "/a")
        #expect(throws: SignatureError.wrong) { try signer.verify(target: signed, now: 0) }
    }

    @Test(arguments: [
        "a", "", "?a", "/a b", "/ä", "/a\"", "/a#b", "/a\\b", "/../a", "/a/./b", "/a/%2E%2e/b", "/a/.%2e",
        "/a?it's",
        "/a\n", "/a<b>", "/{a}",
    ])
    func `a target that would not arrive unchanged is not signed`(target: String) {
        #expect {
            try signer.sign(target: target)
        } throws: { error in
            if case .unsignable = error as? SigningError { true } else { false }
        }
    }

    @Test func `a URL is not signed twice, or with an unknown key`() throws {
        let signed = try signer.sign(target: "/a")
        #expect(throws: SigningError.alreadySigned) { try signer.sign(target: signed) }
        #expect(throws: SigningError.unknownKey("third")) { try signer.sign(target: "/a", keyID: "third") }
        #expect(throws: SigningError.self) { try signer.sign(target: "/a", expiry: -1) }
        #expect(throws: SigningError.self) { try signer.sign(target: "/a", expiry: 1_000_000_000_000) }
    }
}
