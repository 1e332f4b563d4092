import ImageCache
import Testing
import URLSigning

@testable import ImageProxy

@Suite("Image targets that were parsed before")
struct ParsedTargetsTests {
    @Test func `a target with another Accept is parsed separately, and new rules parse it again`() throws {
        let known = ParsedTargets()
        let rules = ImageRules(origin: "https://origin.example")
        let webp = try known.operation(target: "/image/w=9,f=auto/a.jpg", accept: "image/webp", by: rules, now: 0)
        #expect(webp.encoding == .encoder(.webp(quality: 80)))
        let other = try known.operation(target: "/image/w=9,f=auto/a.jpg", accept: nil, by: rules, now: 0)
        #expect(other.encoding != webp.encoding)
        let again = try known.operation(target: "/image/w=9,f=auto/a.jpg", accept: "image/webp", by: rules, now: 0)
        #expect(again.encoding == webp.encoding)
        var narrower = ImageRules(origin: "https://origin.example")
        narrower.restrictions.widths = [10]
        #expect(throws: ImageRequestError.width(9)) {
            try known.operation(target: "/image/w=9,f=auto/a.jpg", accept: "image/webp", by: narrower, now: 0)
        }
    }

    @Test func `a remembered signed URL still expires`() throws {
        let known = ParsedTargets()
        var rules = ImageRules(origin: "https://origin.example")
        let signer = URLSigner(try SigningKeys(text: "k:AAECAwQFBgcICQoLDA0ODw=="))
        rules.signer = signer
        let signed = try signer.sign(target: "/image/w=9/a.jpg", expiry: 1000)
        #expect(try known.operation(target: signed, accept: nil, by: rules, now: 1000).expiry == 1000)
        #expect(throws: ImageRequestError.signature(.expired(at: 1000))) {
            try known.operation(target: signed, accept: nil, by: rules, now: 1001)
        }
    }
}
