import HTTPTypes
import ImageCache
import Testing

@testable import ImageProxy

@Suite("Client hints")
struct ClientHintsTests {
    private func hints(_ ratio: String? = nil, _ width: String? = nil, saves: String? = nil) -> ClientHints {
        var fields = HTTPFields()
        for (name, value) in [("Sec-CH-DPR", ratio), ("Sec-CH-Width", width), ("Save-Data", saves)] {
            if let name = HTTPField.Name(name), let value { fields[name] = value }
        }
        return ClientHints(fields)
    }

    private func operation(
        _ options: String, _ hints: ClientHints, _ change: (inout ImageRules) -> Void = { _ in }
    ) throws -> ImageOperation {
        var rules = ImageRules(origin: "https://a.example")
        rules.usesClientHints = true
        rules.presets = try ImagePresets(
            [("card", "w=100,h=50,fit=cover"), ("sharp", "w=100,dpr=2,q=90")], defaults: "q=70", takesHints: true)
        change(&rules)
        return try rules.operation(target: "/image/\(options)/a.jpg", accept: [], hints: hints, now: 0)
    }

    @Test func `client hints are read strictly, and invalid ones are ignored`() {
        #expect(hints("2.625", "1080").devicePixelRatio == 2.625 && hints("2", "1080").width == 1080)
        for text in ["", "-1", "0", "1e3", "2,3", "x", "1.", ".5", "0x2", "99999999", "inf"] {
            #expect(hints(text, text) == ClientHints(), "\(text)")
        }
        #expect(hints(saves: "on").savesData && hints(saves: "?1").savesData && !hints(saves: "off").savesData)
    }

    @Test func `a hint chooses the pixel ratio if the URL leaves it open, rounded up to a few values`() throws {
        for (hint, ratio) in [("1", 1.0), ("1.25", 1.5), ("1.5", 1.5), ("2.625", 3), ("3.5", 4), ("9", 4)] {
            let operation = try operation("w=100", hints(hint))
            #expect(operation.options.devicePixelRatio == ratio, "\(hint)")
            #expect(operation.hintNames == ["Sec-CH-DPR", "Save-Data"])
        }
        #expect(try operation("w=100,dpr=1", hints("2")).options.devicePixelRatio == 1)
        #expect(try operation("sharp", hints("3")).options.devicePixelRatio == 2)
        #expect(try operation("card", hints("3")).options.devicePixelRatio == 3)
        #expect(
            try operation("w=100", hints("1.1")) { $0.restrictions.devicePixelRatios = [1, 2.5] }
                .options.devicePixelRatio == 2.5)
        // A box that would exceed the greatest size is made for one pixel.
        #expect(try operation("w=5000", hints("2")).options.devicePixelRatio == 1)
    }

    @Test func `a hint chooses the width of w=auto`() throws {
        #expect(try operation("w=auto", hints(nil, "500")).options.width == 512)
        #expect(try operation("w=auto", hints("2", "1000")).options.width == 512)
        #expect(try operation("w=auto,h=20,fit=cover", hints()).options.width == 1280)
        #expect(try operation("w=auto", hints(nil, "65000")).options.width == 8192)
        let listed: (inout ImageRules) -> Void = { $0.restrictions.widths = [64, 640, 320] }
        #expect(try operation("w=auto", hints(nil, "300"), listed).options.width == 320)
        #expect(try operation("w=auto", hints(nil, "900"), listed).options.width == 640)
        #expect(try operation("w=auto", hints(), listed).options.width == 640)
        #expect(try operation("w=auto", hints()).hintNames == ["Sec-CH-DPR", "Sec-CH-Width", "Save-Data"])
        #expect(try operation("w=auto,dpr=2,q=5", hints(nil, "64")).hintNames == ["Sec-CH-Width"])
        #expect(throws: (any Error).self) { try ImageOptions("w=auto") }
    }

    @Test func `hints do not lift the limits on area and blur`() throws {
        // As without a hint.
        #expect(try operation("w=auto,h=8192,fit=cover", hints(nil, "8192")).options.width == 1280)
        #expect(try operation("w=auto,h=1000,fit=cover,blur=9", hints(nil, "8192")).options.width == 1280)
        for hints in [hints(), hints(nil, "8192")] {
            #expect(throws: ImageRequestError.self) { try operation("w=auto,h=8192,fit=fill,blur=9", hints) }
        }
    }

    @Test func `Save-Data lowers quality and ratio if the URL leaves them open`() throws {
        let operation = try operation("w=100", hints("3", saves: "on"))
        #expect(operation.options.quality == 50 && operation.options.devicePixelRatio == 1)
        #expect(try self.operation("sharp", hints(saves: "on")).options.quality == 90)
        #expect(
            try self.operation("w=9", hints(saves: "on")) { $0.restrictions.qualities = [40, 45, 60] }.options.quality
                == 45)
        #expect(
            try self.operation("w=9", hints(saves: "on")) { $0.restrictions.qualities = [70] }.options.quality == 70)
    }

    @Test func `client hints are ignored if the setting is off`() throws {
        var rules = ImageRules(origin: "https://a.example")
        rules.usesClientHints = false
        let plain = try rules.operation(target: "/image/w=9/a.jpg", accept: [], hints: hints("3", saves: "on"), now: 0)
        #expect(plain.options == (try ImageOptions("w=9")) && plain.hintNames.isEmpty)
    }

    @Test(arguments: [(1.0, "1"), (1.5, "1.5"), (2.25, "2.25"), (2.05, "2.05"), (0.5, "0.5")])
    func `a ratio is written as a decimal`(ratio: Double, text: String) { #expect(ClientHints.text(ratio) == text) }
}

@Suite("The original in a response")
struct OriginalReferenceTests {
    @Test(arguments: [
        ("/a/photo.png?v=1", "inline; filename=\"photo.jpg\""), ("/photo", "inline; filename=\"photo.jpg\""),
        ("/a/", "inline"), ("/.htaccess", "inline; filename=\".htaccess.jpg\""),
        ("/a.tar.gz", "inline; filename=\"a.tar.jpg\""),
        ("/x%22%0d%0aSet-Cookie:%2f.png", "inline; filename=\"xSet-Cookie:.jpg\""),
        ("/caf%C3%A9.png", "inline; filename=\"caf_.jpg\"; filename*=UTF-8''caf%C3%A9.jpg"),
        ("/a%20b.png", "inline; filename=\"a b.jpg\""),
        ("/a.longextension", "inline; filename=\"a.longextension.jpg\""),
    ])
    func `the suggested file name has the extension of the format`(path: String, disposition: String) {
        #expect(OriginalReference(.path(path)).disposition("image/jpeg") == disposition)
    }

    @Test func `the suggested file name and the link cover texts and originals of other hosts`() throws {
        let endpoint = AllowedHosts.Endpoint(host: "b.example", port: 443)
        let other = OriginalReference(.url("https://b.example/x/y.gif?z", endpoint))
        #expect(other.disposition("image/webp") == "inline; filename=\"y.webp\"")
        #expect(other.link == "<https://b.example/x/y.gif?z>; rel=\"canonical\"")
        #expect(
            OriginalReference(.path("/y.gif")).disposition("text/plain; charset=utf-8") == "inline; filename=\"y.txt\"")
        #expect(OriginalReference(.path("/y.gif")).disposition("application/json") == "inline; filename=\"y.json\"")
    }

    @Test func `a path that could lead to another host has no link`() throws {
        // Two slashes would name another host.
        for path in ["//evil.example/a.png", "///evil.example/a.png", "//evil.example"] {
            #expect(OriginalReference(.path(path)).link == nil, "\(path)")
        }
        let prefix = try #require(PathPrefix("/shop/"))
        #expect(
            OriginalReference(.path("//evil.example/a.png"), below: prefix).link
                == "</shop//evil.example/a.png>; rel=\"canonical\"")
        #expect(
            OriginalReference(.path("/a%E2%80%AEgpj%E2%80%8B.png")).disposition("image/png")
                == OriginalReference(.path("/agpj.png")).disposition("image/png"))
        #expect(OriginalReference(.path("/a.jpg?v=1")).link == "</a.jpg?v=1>; rel=\"canonical\"")
        for path in ["/a>b", "/a\"b", "/a b", "/é", "/a\u{7F}"] { #expect(OriginalReference(.path(path)).link == nil) }
        #expect(OriginalReference(.invalidURL).link == nil)
    }
}
