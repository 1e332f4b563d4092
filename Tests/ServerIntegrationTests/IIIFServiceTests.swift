import Foundation
import ImageCodec
import TestSupport
import Testing

/// `url-style` `iiif`: the IIIF Image API 3.0 through real sockets.
@Suite(.fewAtATime) struct IIIFServiceTests {
    private static let red = SIMD4<UInt8>(255, 0, 0, 255)
    private static let green = SIMD4<UInt8>(0, 255, 0, 255)
    private static let blue = SIMD4<UInt8>(0, 0, 255, 255)
    private static let white = SIMD4<UInt8>(255, 255, 255, 255)
    private static let black = SIMD4<UInt8>(0, 0, 0, 255)
    /// Blue in gray.
    private static let dark = SIMD4<UInt8>(18, 18, 18, 255)

    /// A PNG of 200 × 100 pixels in quarters: red and green above, blue and white below.
    private static func picture() throws -> [UInt8] {
        let image = try DecodedImage(width: 200, height: 100) { memory in
            for y in 0..<100 {
                for x in 0..<200 {
                    let color = y < 50 ? (x < 100 ? red : green) : (x < 100 ? blue : white)
                    for channel in 0..<4 { memory[(y * 200 + x) * 4 + channel] = color[channel] }
                }
            }
        }
        return try ImageEncoder.png().encode(image)
    }

    private static func origin() throws -> ScriptedOrigin {
        let bytes = try picture()
        return try ScriptedOrigin { request in
            guard request.path.hasSuffix(".png") else {
                return [.head(status: 404, fields: [("Content-Length", "0"), ("Cache-Control", "no-store")])]
            }
            return [
                .head(
                    status: 200,
                    fields: [
                        ("ETag", "\"1\""), ("Cache-Control", "max-age=600"), ("Content-Length", "\(bytes.count)"),
                    ]), .body(bytes),
            ]
        }
    }

    // MARK: Images

    /// The parameters, the size, and the colour in the upper left.
    private static let images: [(parameters: String, width: Int, height: Int, color: SIMD4<UInt8>)] = [
        ("full/max/0/default.png", 200, 100, red), ("full/100,/0/color.png", 100, 50, red),
        ("full/30,60/0/default.png", 30, 60, red), ("full/!50,50/0/default.png", 50, 25, red),
        ("full/%5E400,/0/default.png", 400, 200, red), ("full/^,150/0/default.png", 300, 150, red),
        ("square/max/0/default.png", 100, 100, red),
        ("pct:50,50,50,50/max/0/default.png", 100, 50, white),
        ("120,10,40,20/max/0/default.png", 40, 20, green),
        ("150,60,99,99/10,/0/default.png", 10, 8, white),
        ("full/max/90/default.png", 100, 200, blue), ("full/100,/90/default.png", 50, 100, blue),
        ("full/max/180/default.png", 200, 100, white), ("full/max/270/default.png", 100, 200, green),
        ("full/max/!0/default.png", 200, 100, green), ("full/max/!90/default.png", 100, 200, white),
        ("full/max/!180/default.png", 200, 100, blue), ("full/max/!270/default.png", 100, 200, red),
        ("100,0,100,100/20,40/90/default.png", 40, 20, white),
        ("100,0,100,100/20,40/!90/default.png", 40, 20, white),
        ("0,50,100,50/max/0/gray.png", 100, 50, dark), ("full/max/0/bitonal.png", 200, 100, black),
        ("100,0,100,50/max/0/bitonal.png", 100, 50, white),
    ]

    @Test func `region, size, rotation and quality are applied in this order`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""), "--url-style", "iiif")
        let client = try Client(server.port)
        for (parameters, width, height, color) in Self.images {
            let answer = try #require(client.get("/a.png/\(parameters)"), "\(parameters)")
            #expect(answer.status == 200 && answer["Content-Type"] == "image/png", "\(parameters): \(answer.text)")
            #expect(answer["Access-Control-Allow-Origin"] == "*")
            let image = try ImageDecoder().decode(ImageSource(answer.body))
            #expect((image.width, image.height) == (width, height), "\(parameters)")
            let pixel = image[1, 1]
            let isSame = (0..<4).allSatisfy { abs(Int(pixel[$0]) - Int(color[$0])) <= 2 }
            #expect(isSame, "\(parameters): \(pixel), not \(color)")
        }
        #expect(origin.requests.map(\.request.target) == ["/a.png"])
    }

    @Test func `an image is the same stored image as under this service's URL, and names its canonical one`()
        async throws
    {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""), "--url-style", "iiif", "--client-hints")
        let client = try Client(server.port)
        let first = try #require(client.get("/b%2Fa.png/pct:0,0,50,100/50,/0/color.webp", "Sec-CH-DPR: 2"))
        #expect(first.status == 200 && first["Content-Type"] == "image/webp", "\(first.text)")
        #expect(
            first["Link"]
                == "</b%2Fa.png/0,0,100,100/50,50/0/default.webp>;rel=\"canonical\", "
                + "<http://iiif.io/api/image/3/level2.json>;rel=\"profile\"")
        #expect(first["Vary"]?.contains("DPR") != true, "\(first["Vary"] ?? "")")
        let tag = try #require(first["ETag"])
        for _ in 1...2 {
            let own = try #require(
                client.get("/image/crop=0x0x100x100,w=50,h=50,fit=fill,f=webp,dpr=1/b/a.png"))
            #expect(own.body == first.body && own["ETag"] == tag)
            let again = try #require(client.get("/b%2Fa.png/0,0,100,100/50,50/0/default.webp"))
            #expect(again.body == first.body && again["Cache-Status"] == "imgcache; hit; detail=memory")
            #expect(again["Link"] == first["Link"] && again["Access-Control-Allow-Origin"] == "*")
        }
        let unchanged = client.get("/b%2Fa.png/0,0,100,100/50,50/0/default.webp", "If-None-Match: \(tag)")
        #expect(unchanged?.status == 304)
        let head = client.ask("HEAD /b%2Fa.png/0,0,100,100/50,50/0/default.webp HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(head?.status == 200 && head?["Content-Length"] == "\(first.body.count)")
        #expect(origin.requests.map(\.request.target) == ["/b/a.png"])
        #expect(client.get("/b/a.png")?.body == (try Self.picture()))
    }

    @Test(arguments: [
        ("/a.png/full/max/45/default.png", 400), ("/a.png/200,0,1,1/max/0/default.png", 400),
        ("/a.png/0,0,0,1/max/0/default.png", 400), ("/a.png/full/201,/0/default.png", 400),
        ("/a.png/full/!201,101/0/default.png", 400), ("/a.png/full/full/0/default.png", 400),
        ("/a.png/full/max/0/native.png", 400), ("/a.png/full/max/0/default.tif", 400),
        ("/..%2Fa.png/full/max/0/default.png", 400), ("/none/full/max/0/default.png", 404), ("/none/info.json", 404),
        ("/https%3A%2F%2Fother.example%2Fa.png/info.json", 403),
    ])
    func `an error has its status, and pages of all origins can read it`(_ target: String, _ status: Int) async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""), "--url-style", "iiif")
        let client = try Client(server.port)
        let answer = try #require(client.get(target))
        #expect(answer.status == status, "\(answer.text)")
        #expect(answer["Access-Control-Allow-Origin"] == "*")
        #expect(client.get("/a/b/full/max/0/default.png")?.status == 200, "a file of the origin")
    }

    // MARK: info.json

    private func json(_ answer: Client.Response) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any], "\(answer.text)")
    }

    @Test func `info.json describes the image, and the base URI leads to it`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""), "--url-style", "iiif")
        let client = try Client(server.port)
        for (accept, type) in [
            ("Accept: application/ld+json", "application/ld+json;profile=\"http://iiif.io/api/image/3/context.json\""),
            ("X-None: 1", "application/ld+json;profile=\"http://iiif.io/api/image/3/context.json\""),
            ("Accept: */*", "application/json"), ("Accept: application/json", "application/json"),
        ] {
            let answer = try #require(client.get("/b%2Fa.png/info.json", accept))
            #expect(answer.status == 200 && answer["Content-Type"] == type, "\(accept): \(answer.fields)")
            #expect(answer["Vary"] == "Accept, Host" && answer["Access-Control-Allow-Origin"] == "*")
            #expect(answer["Cache-Control"]?.contains("max-age=") == true && answer["ETag"] == nil)
            let document = try json(answer)
            #expect(document["id"] as? String == "http://x/b%2Fa.png")
            #expect(document["width"] as? Int == 200 && document["height"] as? Int == 100)
        }
        let unchanged = client.get("/b%2Fa.png/info.json", "If-Modified-Since: Fri, 31 Dec 2099 00:00:00 GMT")
        #expect(unchanged?.status == 200)
        let head = client.ask("HEAD /b%2Fa.png/info.json HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(head?.status == 200 && head?["Content-Length"] != nil)
        let base = try #require(client.get("/b%2Fa.png"))
        #expect(base.status == 303 && base["Location"] == "/b%2Fa.png/info.json")
        #expect(base["Access-Control-Allow-Origin"] == "*")
        let options = client.ask("OPTIONS /b%2Fa.png/info.json HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(options?.status == 204 && options?["Access-Control-Allow-Origin"] == "*")
        #expect(options?["Access-Control-Allow-Headers"] == "*")
        let post = client.ask("POST /b%2Fa.png HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        #expect(post?.status == 405)
        #expect(origin.requests.count == 1)
    }

    @Test func `the id of info.json has the public host, and the scheme that a trusted proxy reports`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(
            origin: origin.url(""), "--url-style", "iiif", "--public-hosts", "images.example", "--trusted-proxies",
            "127.0.0.2")
        func ask(_ host: String, _ scheme: String, from source: String) throws -> Client.Response {
            let text = "GET /a.png/info.json HTTP/1.1\r\nHost: \(host)\r\nX-Forwarded-Proto: \(scheme)\r\n\r\n"
            return try #require(try Client(server.port, from: source).ask(text))
        }
        for (host, scheme, source, id) in [
            ("images.example", "https", "127.0.0.2", "https://images.example/a.png"),
            ("images.example", "http, https", "127.0.0.2", "https://images.example/a.png"),
            ("images.example", "javascript", "127.0.0.2", "http://images.example/a.png"),
            ("images.example", "https", "127.0.0.3", "http://images.example/a.png"),
            ("127.0.0.1:\(server.port)", "https", "127.0.0.3", "http://127.0.0.1:\(server.port)/a.png"),
        ] {
            let answer = try ask(host, scheme, from: source)
            #expect(try json(answer)["id"] as? String == id)
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `an info.json for an unknown host is refused before the original is fetched`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(
            origin: origin.url(""), "--url-style", "iiif", "--public-hosts", "images.example")
        for request in ["1.1\r\nHost: other.example", "1.0", "1.0\r\nHost: other.example"] {
            let text = "GET /a.png/info.json HTTP/\(request)\r\n\r\n"
            let answer = try #require(try Client(server.port).ask(text))
            #expect(answer.status == 421 && answer.text.contains("misdirected"), "\(answer.text)")
            #expect(answer["Access-Control-Allow-Origin"] == "*")
        }
        #expect(origin.requests.isEmpty)
    }

    // MARK: Rules

    @Test(arguments: [
        (#""signing-key-files": ["KEYS"]"#, "/a.png/full/max/0/default.png", 403, "signature-missing"),
        (#""signing-key-files": ["KEYS"]"#, "/a.png/info.json", 403, "signature-missing"),
        (#""only-presets": true"#, "/a.png/full/max/0/default.png", 400, "preset-required"),
        (#""widths": [50]"#, "/a.png/full/60,/0/default.png", 400, "width"),
        (#""widths": [50]"#, "/a.png/square/50,/0/default.png", 400, "widths are restricted"),
    ])
    func `the rules for this service's own URLs hold for those of IIIF`(
        _ setting: String, _ target: String, _ status: Int, _ text: String
    ) async throws {
        let origin = try Self.origin()
        let directory = try TestDirectory()
        let keys = try directory.write("k:\(Data(repeating: 7, count: 32).base64EncodedString())\n", to: "keys")
        chmod(keys, 0o600)
        let settings = try directory.write(
            #"{"presets": {"icon": "w=8"}, "url-style": "iiif", \#(setting.replacing("KEYS", with: keys))}"#,
            to: "server.json")
        let server = try await ServerProcess(origin: origin.url(""), "--config", settings)
        let answer = try #require(try Client(server.port).get(target))
        #expect(answer.status == status && answer.text.contains(text), "\(answer.text)")
        #expect(answer["Access-Control-Allow-Origin"] == "*")
    }
}
