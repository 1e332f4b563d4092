import Foundation
import HTTPServer
import HTTPTypes
import TestSupport
import Testing

@testable import ImageProxy

/// URLs of the IIIF Image API 3.0, and their meaning here.
@Suite("IIIF image URLs")
struct IIIFURLTests {
    /// - Parameter parameters: The URL after the identifier.
    private func rendering(
        _ parameters: some StringProtocol, _ width: Int = 640, _ height: Int = 480
    ) throws -> IIIFRendering {
        let url = try #require(try IIIFURL("/a.jpg/\(parameters)"))
        guard case .image(let image) = url.resource else { throw TestSetupFailure("not an image: \(parameters)") }
        return try IIIFRendering(image, ofWidth: width, height: height)
    }

    /// The options of the image target, which this service can read.
    private func options(_ rendering: IIIFRendering) throws -> String {
        let target = rendering.target(of: "a.jpg")
        #expect(target.hasPrefix("/image/") && target.hasSuffix("/a.jpg"), "\(target)")
        let parsed = try ImageTarget(target[...].dropFirst("/image/".count))
        _ = try ImageOptions(parsed.options)
        return String(parsed.options)
    }

    // MARK: Forms

    @Test(arguments: [
        ("/a.jpg/info.json", "/image/info/a.jpg"), ("/a.jpg", "/image/info/a.jpg"),
        ("/a%2Fb%2fc%20d.jpg/info.json", "/image/info/a/b/c%20d.jpg"), ("/%2Fa.jpg", "/image/info/a.jpg"),
        ("/a%252Fb.jpg/full/max/0/default.jpg", "/image/info/a%252Fb.jpg"),
        ("/a%3Fb.jpg/info.json?c=d", "/image/info/a%3Fb.jpg"), ("/a%2Db.jpg/info.json", "/image/info/a%2Db.jpg"),
        ("/https%3A%2F%2Fexample.com%2Fa.jpg/info.json", "/image/info/https://example.com/a.jpg"),
        ("/a|b.jpg/info.json", "/image/info/a%7Cb.jpg"),
    ])
    func `an identifier is the path of the original below the origin`(_ target: String, _ ours: String) throws {
        #expect(try URLStyle(.iiif).translated(target, now: 0)?.target == ours)
    }

    @Test(arguments: [
        "/", "/a/b.jpg", "/a/b/c.jpg", "/a/info.json/", "/a/b/full/max/0/default.jpg", "/image/info/a.jpg",
        "/zsync/1/a.jpg",
    ])
    func `a target of another form belongs to the origin`(_ target: String) throws {
        #expect(try URLStyle(.iiif).translated(target, now: 0) == nil)
    }

    // MARK: Parameters

    /// Of an image of 640 × 480 pixels: the parameters, the options here, and the canonical parameters.
    @Test(arguments: [
        ("full/max/0/default.jpg", "format=jpeg", "full/max/0/default.jpg"),
        ("full/max/0/color.png", "format=png", "full/max/0/default.png"),
        ("full/max/0/gray.webp", "gray=1,format=webp", "full/max/0/gray.webp"),
        ("full/max/0/bitonal.png", "gray=bitonal,format=png", "full/max/0/bitonal.png"),
        // Regions.
        ("square/max/0/default.jpg", "crop=80x0x480x480,format=jpeg", "80,0,480,480/max/0/default.jpg"),
        ("10,20,30,40/max/0/default.jpg", "crop=10x20x30x40,format=jpeg", "10,20,30,40/max/0/default.jpg"),
        ("600,400,100,100/max/0/default.jpg", "crop=600x400x40x80,format=jpeg", "600,400,40,80/max/0/default.jpg"),
        ("0,0,9999,9999/max/0/default.jpg", "format=jpeg", "full/max/0/default.jpg"),
        ("pct:50,50,25,25/max/0/default.jpg", "crop=320x240x160x120,format=jpeg", "320,240,160,120/max/0/default.jpg"),
        ("pct%3A0%2C0,33.3333,100/max/0/default.jpg", "crop=0x0x213x480,format=jpeg", "0,0,213,480/max/0/default.jpg"),
        (
            "pct:99.99,99.99,.001,0.001/max/0/default.jpg", "crop=639x479x1x1,format=jpeg",
            "639,479,1,1/max/0/default.jpg"
        ),
        ("pct:0,0,100,1000/max/0/default.jpg", "format=jpeg", "full/max/0/default.jpg"),
        // Sizes.
        ("full/320,/0/default.jpg", "width=320,height=240,fit=fill,format=jpeg", "full/320,240/0/default.jpg"),
        ("full/,120/0/default.jpg", "width=160,height=120,fit=fill,format=jpeg", "full/160,120/0/default.jpg"),
        ("full/100,400/0/default.jpg", "width=100,height=400,fit=fill,format=jpeg", "full/100,400/0/default.jpg"),
        ("full/pct:50/0/default.jpg", "width=320,height=240,fit=fill,format=jpeg", "full/320,240/0/default.jpg"),
        ("full/pct:33.3/0/default.jpg", "width=213,height=160,fit=fill,format=jpeg", "full/213,160/0/default.jpg"),
        ("full/!100,100/0/default.jpg", "width=100,height=75,fit=fill,format=jpeg", "full/100,75/0/default.jpg"),
        ("full/!9999,48/0/default.jpg", "width=64,height=48,fit=fill,format=jpeg", "full/64,48/0/default.jpg"),
        ("full/640,480/0/default.jpg", "format=jpeg", "full/max/0/default.jpg"),
        ("full/pct:100/0/default.jpg", "format=jpeg", "full/max/0/default.jpg"),
        ("full/!640,480/0/default.jpg", "format=jpeg", "full/max/0/default.jpg"),
        ("full/1,/0/default.jpg", "width=1,height=1,fit=fill,format=jpeg", "full/1,1/0/default.jpg"),
        ("full/^320,/0/default.jpg", "width=320,height=240,fit=fill,format=jpeg", "full/320,240/0/default.jpg"),
        ("full/^1280,/0/default.jpg", "width=1280,height=960,fit=fill,format=jpeg", "full/%5E1280,960/0/default.jpg"),
        (
            "full/%5E!1280,9999/0/default.jpg", "width=1280,height=960,fit=fill,format=jpeg",
            "full/%5E1280,960/0/default.jpg"
        ),
        ("full/^100,500/0/default.jpg", "width=100,height=500,fit=fill,format=jpeg", "full/%5E100,500/0/default.jpg"),
        ("full/^pct:200/0/default.jpg", "width=1280,height=960,fit=fill,format=jpeg", "full/%5E1280,960/0/default.jpg"),
        ("full/^max/0/default.jpg", "width=6688,height=5016,fit=fill,format=jpeg", "full/%5Emax/0/default.jpg"),
        (
            "full/^!99999,99999/0/default.jpg", "width=6688,height=5016,fit=fill,format=jpeg",
            "full/%5Emax/0/default.jpg"
        ),
        // Rotations.
        (
            "full/320,/90/default.jpg", "width=240,height=320,fit=fill,rotate=90,format=jpeg",
            "full/320,240/90/default.jpg"
        ),
        ("full/max/180.0/default.jpg", "rotate=180,format=jpeg", "full/max/180/default.jpg"),
        ("full/max/360/default.jpg", "format=jpeg", "full/max/0/default.jpg"),
        ("full/max/!0/default.gif", "flip=h,format=gif", "full/max/!0/default.gif"),
        ("full/max/!90/default.jpg", "rotate=90,flip=v,format=jpeg", "full/max/!90/default.jpg"),
        ("full/max/!180/default.jpg", "rotate=180,flip=h,format=jpeg", "full/max/!180/default.jpg"),
        ("full/max/%21270/default.avif", "rotate=270,flip=v,format=avif", "full/max/!270/default.avif"),
        (
            "10,20,30,40/15,/270/gray.jpg",
            "crop=10x20x30x40,width=20,height=15,fit=fill,rotate=270,gray=1,format=jpeg",
            "10,20,30,40/15,20/270/gray.jpg"
        ),
    ])
    func `the parameters of an image become options of this service`(
        _ parameters: String, _ ours: String, _ canonical: String
    ) throws {
        let rendering = try rendering(parameters)
        #expect(try options(rendering) == ours + ",dpr=1")
        #expect(rendering.canonical == canonical)
        // The canonical URL is that of the same image.
        let again = try self.rendering(canonical)
        #expect(again.canonical == canonical)
        #expect(try options(again) == ours + ",dpr=1")
    }

    @Test(arguments: [
        ("full/max/0/default.jpg", "width=8192,height=409,fit=fill", "full/max/0/default.jpg"),
        ("full/!20000,1000/0/default.jpg", "width=8192,height=409,fit=fill", "full/max/0/default.jpg"),
        ("10000,0,512,512/max/0/default.jpg", "crop=10000x0x512x512", "10000,0,512,512/max/0/default.jpg"),
    ])
    func `the largest size of an image is that of the limits`(
        _ parameters: String, _ ours: String, _ canonical: String
    ) throws {
        let rendering = try rendering(parameters, 20_000, 1000)
        #expect(try options(rendering) == ours + ",format=jpeg,dpr=1")
        #expect(rendering.canonical == canonical)
    }

    // MARK: Refusals

    @Test(arguments: [
        ("Full/max/0/default.jpg", "region"), ("/max/0/default.jpg", "region"), ("1,2,3/max/0/default.jpg", "region"),
        ("1,2,3,4,5/max/0/default.jpg", "region"), ("1,2,3,-4/max/0/default.jpg", "region"),
        ("1,2,3.5,4/max/0/default.jpg", "region"), ("1,2,0,4/max/0/default.jpg", "region"),
        ("1,2,3,0/max/0/default.jpg", "region"), ("640,0,10,10/max/0/default.jpg", "region"),
        ("0,480,10,10/max/0/default.jpg", "region"), ("pct:100,0,10,10/max/0/default.jpg", "region"),
        ("pct:0,100,10,10/max/0/default.jpg", "region"), ("pct:1,1,0,10/max/0/default.jpg", "region"),
        ("pct:1,1,1e3,10/max/0/default.jpg", "region"), ("pct:1,1,.,10/max/0/default.jpg", "region"),
        ("%FF/max/0/default.jpg", "region"), ("99999999999999999999,0,1,1/max/0/default.jpg", "region"),
        ("full/full/0/default.jpg", "size"), ("full//0/default.jpg", "size"), ("full/,/0/default.jpg", "size"),
        ("full/100/0/default.jpg", "size"), ("full/0,/0/default.jpg", "size"), ("full/,0/0/default.jpg", "size"),
        ("full/0,0/0/default.jpg", "size"), ("full/1,2,3/0/default.jpg", "size"), ("full/!1,/0/default.jpg", "size"),
        ("full/!^1,1/0/default.jpg", "size"), ("full/^^1,1/0/default.jpg", "size"), ("full/-1,/0/default.jpg", "size"),
        ("full/1.5,/0/default.jpg", "size"), ("full/pct:0/0/default.jpg", "size"), ("full/pct:/0/default.jpg", "size"),
        ("full/pct:-1/0/default.jpg", "size"), ("full/pct:inf/0/default.jpg", "size"),
        ("full/^pct:99999999999999999999/0/default.jpg", "size"), ("full/pct:0.01/0/default.jpg", "size"),
        ("full/641,/0/default.jpg", "size"), ("full/,481/0/default.jpg", "size"), ("full/641,1/0/default.jpg", "size"),
        ("full/1,481/0/default.jpg", "size"), ("full/pct:101/0/default.jpg", "size"),
        ("full/!641,481/0/default.jpg", "size"), ("10,10,20,20/21,/0/default.jpg", "size"),
        ("full/^8193,/0/default.jpg", "size"), ("full/^8192,8192/0/default.jpg", "size"),
        ("full/^999999999,1/0/default.jpg", "size"), ("full/^,999999999/0/default.jpg", "size"),
        ("full/^pct:1000000/0/default.jpg", "size"),
        ("full/max/45/default.jpg", "rotation"), ("full/max/-90/default.jpg", "rotation"),
        ("full/max/450/default.jpg", "rotation"), ("full/max//default.jpg", "rotation"),
        ("full/max/!/default.jpg", "rotation"), ("full/max/!!0/default.jpg", "rotation"),
        ("full/max/90!/default.jpg", "rotation"),
        ("full/max/0/native.jpg", "quality"), ("full/max/0/.jpg", "quality"), ("full/max/0/default", "format"),
        ("full/max/0/default.a.jpg", "quality"), ("full/max/0/default.", "format"),
        ("full/max/0/default.tif", "format"), ("full/max/0/default.JPG", "format"),
        ("full/max/0/default.jpeg", "format"),
    ])
    func `an invalid parameter is refused by name with the status 400`(_ parameters: String, _ name: String) {
        let error = #expect(throws: ImageOptionError.self) { try rendering(parameters) }
        guard let error else { return }
        #expect(error.message.contains("\"\(name)\""), "\(error)")
        #expect(Response(ImageRequestError.invalidOption(error)).head.status.code == 400)
    }

    @Test(arguments: [
        ("%FF/max/0/default.jpg", "region"), ("full/%C3/0/default.jpg", "size"), ("full/max/%/default.jpg", "rotation"),
        ("full/max/0/%4", "quality"),
    ])
    func `a parameter that is not UTF-8 is refused for this reason`(_ parameters: String, _ name: String) {
        let error = #expect(throws: ImageOptionError.self) { try rendering(parameters) }
        #expect(error?.message.contains("\"\(name)\" must be percent-encoded UTF-8") == true, "\(error?.message ?? "")")
    }

    @Test(arguments: ["//info.json", "//full/max/0/default.jpg", "/a/full/max/45/default.jpg"])
    func `a target without an identifier or with an invalid parameter is refused`(_ target: String) {
        #expect(throws: ImageRequestError.self) { try URLStyle(.iiif).translated(target, now: 0) }
    }

    @Test func `any parameters give options that this service can read, or an error`() throws {
        let seeds = [
            "1,2,300,400/100,/90/gray.jpg", "pct:1.5,2,30,40/^!100,200/!270/default.png",
            "square/^pct:150/0/color.webp", "full/,9/180/default.gif", "full/^max/0/default.avif",
        ]
        var random = SeededGenerator(for: "IIIF parameters")
        for _ in 0..<20_000 {
            var bytes = Array(seeds[Int.random(in: 0..<seeds.count, using: &random)].utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes.remove(at: place)
                } else {
                    bytes[place] = .random(in: 33...126, using: &random)
                }
            }
            let target = "/a.jpg/" + String(decoding: bytes, as: UTF8.self)
            guard let url = try? IIIFURL(target), case .image(let image) = url.resource else { continue }
            let (width, height) = (
                Int.random(in: 1...70_000, using: &random), Int.random(in: 1...70_000, using: &random)
            )
            guard let rendering = try? IIIFRendering(image, ofWidth: width, height: height) else { continue }
            #expect(throws: Never.self, "\(target) of \(width)x\(height)") { try options(rendering) }
            #expect((1...8192).contains(rendering.width) && (1...8192).contains(rendering.height), "\(target)")
        }
    }

    // MARK: info.json

    private func size(_ width: Int, _ height: Int) throws -> OriginalSize {
        let text = #"{"format":"PNG","height":\#(height),"width":\#(width)}"#
        return try #require(OriginalSize(Response(HTTPResponse(status: .ok), body: .bytes(Array(text.utf8)))))
    }

    private func document(_ width: Int, _ height: Int) throws -> [String: Any] {
        let text = try size(width, height).document(id: "https://example.com/a.jpg")
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
    }

    @Test func `info.json has the size, the limits, and what the service offers beyond level 2`() throws {
        let document = try document(640, 480)
        for (name, value) in [
            ("@context", "http://iiif.io/api/image/3/context.json"), ("id", "https://example.com/a.jpg"),
            ("type", "ImageService3"), ("protocol", "http://iiif.io/api/image"), ("profile", "level2"),
        ] {
            #expect(document[name] as? String == value, "\(name)")
        }
        for (name, value) in [
            ("width", 640), ("height", 480), ("maxWidth", 8192), ("maxHeight", 8192), ("maxArea", 33_554_432),
        ] {
            #expect(document[name] as? Int == value, "\(name)")
        }
        #expect(document["extraQualities"] as? [String] == ["color", "gray", "bitonal"])
        #expect(document["extraFormats"] as? [String] == ["avif", "gif", "webp"])
        #expect(
            document["extraFeatures"] as? [String]
                == ["canonicalLinkHeader", "mirroring", "profileLinkHeader", "sizeUpscaling"])
        #expect(
            document["sizes"] as? [[String: Int]] == [["width": 320, "height": 240], ["width": 640, "height": 480]])
        let tiles = try #require(document["tiles"] as? [[String: Any]])
        #expect(tiles.count == 1 && tiles[0]["width"] as? Int == 512 && tiles[0]["scaleFactors"] as? [Int] == [1, 2])
    }

    @Test(arguments: [(1, 1), (512, 512), (513, 1), (3000, 2001), (12_000, 9000), (1, 9999)])
    func `every size and tile of info.json is served`(_ width: Int, _ height: Int) throws {
        let document = try document(width, height)
        for size in try #require(document["sizes"] as? [[String: Int]]) {
            let (sizeWidth, sizeHeight) = (try #require(size["width"]), try #require(size["height"]))
            let rendering = try rendering("full/\(sizeWidth),\(sizeHeight)/0/default.jpg", width, height)
            #expect((rendering.width, rendering.height) == (sizeWidth, sizeHeight))
        }
        let tile = try #require((document["tiles"] as? [[String: Any]])?.first)
        for factor in try #require(tile["scaleFactors"] as? [Int]) {
            let side = 512 * factor
            for y in stride(from: 0, to: height, by: side) {
                for x in stride(from: 0, to: width, by: side) {
                    let (partWidth, partHeight) = (min(side, width - x), min(side, height - y))
                    let (w, h) = ((partWidth + factor - 1) / factor, (partHeight + factor - 1) / factor)
                    let rendering = try rendering(
                        "\(x),\(y),\(partWidth),\(partHeight)/\(w),\(h)/0/default.jpg", width, height)
                    #expect((rendering.width, rendering.height) == (w, h))
                }
            }
        }
    }

    @Test func `a response other than a description has no size`() {
        for (status, text) in [
            (404, #"{"width":1,"height":1}"#), (200, "{}"), (200, #"{"width":0,"height":1}"#), (200, ""),
        ] {
            let response = Response(
                HTTPResponse(status: .init(integerLiteral: status)), body: .bytes(Array(text.utf8)))
            #expect(OriginalSize(response) == nil, "\(status) \(text)")
        }
        #expect(OriginalSize(Response(HTTPResponse(status: .ok))) == nil)
    }

    @Test(arguments: [
        ("application/ld+json", true), ("text/html, application/ld+json;profile=\"x\";q=0.5", true),
        ("application/ld+json;q=0", false), ("application/json", false), ("*/*", false),
    ])
    func `JSON-LD is accepted only by name`(_ accept: String, _ isAccepted: Bool) {
        #expect(AcceptedFormats([accept]).isLinkedJSON == isAccepted)
    }
}
