import HTTPServer
import HTTPTypes
import ImageCache
import TestSupport
import Testing
import URLSigning

@testable import ImageProxy

@Suite("The rules for images")
struct ImageRulesTests {
    private var rules: ImageRules {
        var rules = ImageRules(origin: "https://origin.example/base")
        rules.originEndpoint = AddressPolicy.Endpoint(host: "origin.example", port: 443)
        return rules
    }

    private func operation(_ target: String, _ rules: ImageRules, accept: String = "*/*") throws(ImageRequestError)
        -> ImageOperation
    {
        try rules.operation(target: target, accept: [accept], now: 1000)
    }

    @Test func `the path behind the options is resolved against the origin`() throws {
        let operation = try operation("/image/w=9/a.jpg?v=1", rules)
        #expect(operation.request.file.url == "https://origin.example/base/a.jpg?v=1")
        #expect(operation.request.sizing == .init(width: 9, height: 8192))
        #expect(operation.variesOnAccept && operation.expiry == nil)
        #expect(operation.encoding == .likeOriginal(.init(quality: 80)))
        #expect(
            try self.operation("/image/w=9/a.jpg", rules, accept: "image/webp").encoding == .encoder(.webp(quality: 80))
        )
        let frame = try self.operation("/image/w=9,frame=2/a.gif", rules).request
        #expect(frame.decoder.frame == 2 && !frame.keepsAnimation && operation.request.keepsAnimation)
        #expect(try self.operation("/image/w=9,anim=0/a.gif", rules).request.keepsAnimation == false)
        let fixed = try self.operation("/image/w=9,f=png/a.jpg", rules, accept: "image/webp")
        #expect(!fixed.variesOnAccept && fixed.encoding == .encoder(.png()))
        #expect(
            try self.operation("/image/w=9/https://origin.example/base/x.jpg", rules).request.file.url
                == "https://origin.example/base/x.jpg")
    }

    @Test(arguments: [
        "https://origin.example/x.jpg", "https://origin.example/basement/x.jpg", "https://origin.example/base%2fx.jpg",
        "https://origin.example/base/..%2fx.jpg", "..%2fx.jpg", "..;/x.jpg", "a/%252e%252e/%252e%252e/x.jpg",
        "https://origin.example/base/%zz",
    ])
    func `a path outside the origin's base path is refused`(original: String) {
        var rules = rules
        // Nor where a pattern would allow it.
        rules.allowedHosts = AllowedHosts(["*.example", "origin.example"])
        #expect(throws: ImageRequestError.self) { try operation("/image/w=9/\(original)", rules) }
    }

    @Test func `only allowed hosts are served besides the origin`() throws {
        var rules = rules
        #expect(throws: ImageRequestError.host) { try operation("/image/w=9/https://b.example/a.jpg", rules) }
        #expect(throws: ImageRequestError.host) { try operation("/image/w=9/https://origin.example:8443/a.jpg", rules) }
        rules.allowedHosts = AllowedHosts(["b.example"])
        #expect(
            try operation("/image/w=9/https://b.example/a.jpg", rules).request.file.url == "https://b.example/a.jpg")
        #expect(throws: ImageRequestError.host) { try operation("/image/w=9/https://c.example/a.jpg", rules) }
        #expect(throws: ImageRequestError.host) { try operation("/image/w=9/http://169.254.169.254/", rules) }
    }

    @Test func `only allowed widths are served if widths are restricted`() throws {
        var rules = rules
        rules.restrictions.widths = [64, 128]
        #expect(try operation("/image/w=64,h=128/a.jpg", rules).request.sizing?.width == 64)
        #expect(throws: ImageRequestError.width(65)) { try operation("/image/w=65/a.jpg", rules) }
        #expect(throws: ImageRequestError.width(nil)) { try operation("/image/h=64/a.jpg", rules) }
    }

    @Test func `only signed URLs are served if there are keys`() throws {
        var rules = rules
        let signer = URLSigner(try SigningKeys(text: "k:AAECAwQFBgcICQoLDA0ODw=="))
        rules.signer = signer
        #expect(throws: ImageRequestError.signature(.missing)) { try self.operation("/image/w=9/a.jpg", rules) }
        let signed = try signer.sign(target: "/image/w=9/a.jpg?v=1", expiry: 1000)
        let operation = try self.operation(signed, rules)
        #expect(operation.request.file.url == "https://origin.example/base/a.jpg?v=1")
        #expect(operation.expiry == 1000)
        #expect(throws: ImageRequestError.signature(.expired(at: 1000))) {
            try rules.operation(target: signed, accept: [], now: 1001)
        }
        let other = signed.replacingOccurrences(of: "w=9", with: "w=8")
        #expect(throws: ImageRequestError.signature(.wrong)) { try self.operation(other, rules) }
    }

    @Test func `random URLs give an image of an allowed host or a refusal`() throws {
        var generator = SeededGenerator(seed: 5)
        let pieces = [
            "w=", "h=", "fit=", "cover", "f=", "auto", "dpr=", "g=", "0.5x0.5", "bg=", "fff", "blur=", "1", "64",
            "9999999", ",",
            "=", "/", "//", ":", "https:/", "http://", "a.example", "b.example", "127.0.0.1", ":80", "@", "[", "]", "%",
            "%2", "%2e",
            "%ff", ".", "..", "?", "&", "imgcache-sig=", "&imgcache-kid=k", "&imgcache-exp=", "é", "\u{0}", " ", "\\",
        ]
        var rules = rules
        rules.allowedHosts = AllowedHosts(["*.allowed.example"])
        var orders = 0
        for round in 0..<20_000 {
            var target = round % 3 == 0 ? "/image/" : "/image/w=64/"
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                target += pieces.randomElement(using: &generator) ?? ""
            }
            rules.signer =
                round % 10 == 0 ? URLSigner(try SigningKeys(text: "k:AAECAwQFBgcICQoLDA0ODw==")) : nil
            guard let operation = try? operation(target, rules) else { continue }
            orders += 1
            #expect(operation.request.file.url.hasPrefix("https://origin.example/base/"), "\(target)")
            #expect(rules.signer == nil, "\(target)")
        }
        #expect(orders > 1000)
    }

    @Test func `a client's own fields are not sent to the origin, so that clients share one image`() throws {
        let operation = try operation("/image/w=9/a.jpg", rules, accept: "image/png")
        #expect(operation.request.file.fields == [.accept: "image/webp, image/png, image/jpeg"])
    }
}

extension String {
    fileprivate func replacingOccurrences(of text: String, with other: String) -> String {
        replacing(text, with: other)
    }
}

@Suite("Responses without an image")
struct ImageFailureTests {
    private func response(_ code: ImageCacheError.Code) -> Response {
        Response(imageFailure: ImageCacheError(code, url: "http://10.0.0.1/secret", message: "reason"))
    }

    @Test func `a failure has the right status and a short JSON body, and is not cached`() {
        let table: [(ImageCacheError.Code, Int, String)] = [
            (.status(404), 404, "not-found"), (.status(410), 410, "gone"), (.status(401), 403, "origin-forbids"),
            (.status(403), 403, "origin-forbids"), (.status(500), 502, "origin-status"),
            (.status(418), 502, "origin-status"),
            (.status(503), 503, "origin-busy"), (.status(429), 503, "origin-busy"),
            (.status(504), 504, "origin-timeout"),
            (.undecodable(.unsupportedFormat), 415, "not-an-image"), (.undecodable(.truncated), 422, "image-truncated"),
            (.undecodable(.corrupt), 422, "image-damaged"), (.undecodable(.limitExceeded), 422, "image-too-large"),
            (.undecodable(.outOfMemory), 503, "memory"), (.undecodable(.failed), 500, "image"),
            (.store(.tooLarge), 422, "too-large"), (.addressRefused, 403, "address-refused"),
            (.unreachable, 502, "origin-unreachable"), (.wrongBytes, 502, "origin-wrong-bytes"),
            (.store(.full), 503, "store"),
        ]
        for (code, status, name) in table {
            let response = response(code)
            #expect(response.head.status.code == status, "\(name)")
            #expect(response.error == name)
            #expect(response.head.headerFields[.cacheControl] == "no-store")
            #expect(response.head.headerFields[.contentType] == "application/json")
            guard case .bytes(let bytes) = response.body else {
                Issue.record("no body: \(name)")
                continue
            }
            // Addresses are for the log.
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.hasPrefix("{\"error\":\"\(name)\",\"message\":\"") && !text.contains("10.0.0.1"), "\(text)")
            #expect(response.detail?.contains("http://10.0.0.1/secret") == true)
        }
    }

    @Test(arguments: [ImageFormat.jpeg2000, .svg])
    func `a known but unsupported format is named in the response`(_ format: ImageFormat) {
        let cause = ImageCodecError(.unsupportedFormat, format: format, "unsupported format: \(format)")
        let response = Response(
            imageFailure: ImageCacheError(.undecodable(.unsupportedFormat), url: "/a", message: "", cause: cause))
        #expect(response.head.status.code == 415 && response.error == "unsupported-format")
        guard case .bytes(let bytes) = response.body else {
            Issue.record("no body")
            return
        }
        #expect(
            String(decoding: bytes, as: UTF8.self).contains("The original is \(format.name), which is not supported"))
    }

    @Test func `an unsupported kind of a known format is named, and other bytes are reported as no image`() {
        let missing = "TIFF needs libtiff (Debian package libtiff6), which cannot be opened"
        let forbidden = "TIFF is decoded in worker processes only"
        let table: [(ImageFormat?, String, Bool, String, String)] = [
            (.jpeg, "", false, "unsupported-format", "The original is JPEG of a kind that is not supported."),
            (.tiff, "a kind", false, "unsupported-format", "The original is TIFF of a kind that is not supported."),
            (.tiff, missing, true, "unsupported-format", "The original is TIFF; \(missing)."),
            (.tiff, forbidden, true, "unsupported-format", "The original is TIFF; \(forbidden)."),
            (
                nil, "", false, "not-an-image",
                "The original is not a JPEG, PNG, WebP, GIF, AVIF, HEIF, JPEG XL, TIFF, BMP or ICO image."
            ),
        ]
        for (format, reason, isOfProcess, name, words) in table {
            var cause = ImageCodecError(.unsupportedFormat, format: format, reason)
            cause.isOfProcess = isOfProcess
            let response = Response(
                imageFailure: ImageCacheError(.undecodable(.unsupportedFormat), url: "/a", message: "", cause: cause))
            guard response.head.status.code == 415, case .bytes(let bytes) = response.body else {
                Issue.record("\(response.head.status)")
                continue
            }
            #expect(response.error == name && String(decoding: bytes, as: UTF8.self).contains(words))
        }
    }

    @Test func `a forbidden request is answered with 403, and an invalid one with 400`() {
        let table: [(ImageRequestError, Int)] = [
            (.host, 403), (.signature(.missing), 403), (.signature(.malformed), 403),
            (.signature(.unknownKey("k")), 403),
            (.signature(.expired(at: 5)), 403), (.signature(.wrong), 403), (.signature(.unavailable), 503),
            (.width(5), 400), (.width(nil), 400), (.invalidOption(.init(code: "bad-option", message: "m")), 400),
        ]
        for (refusal, status) in table {
            #expect(Response(refusal).head.status.code == status, "\(refusal)")
        }
    }
}
