import ImageCache
import Testing
import URLSigning

@testable import ImageProxy

@Suite("Orders that are known already")
struct ParsedTargetsTests {
    @Test func `the same target with another Accept is another order, and new rules read it anew`() throws {
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

    @Test func `a signed URL that is known expires all the same`() throws {
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
