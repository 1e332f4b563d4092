import Foundation
import ImageCodec
import TestSupport
import Testing

/// `url-style`: image URLs of other services, through real sockets.
@Suite(.fewAtATime) struct URLStyleServiceTests {
    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { _ in
            [
                .head(
                    status: 200,
                    fields: [
                        ("ETag", "\"1\""), ("Cache-Control", "max-age=600"),
                        ("Content-Length", "\(GradientPicture.bytes.count)"),
                    ]), .body(GradientPicture.bytes),
            ]
        }
    }

    private func keyFile(_ text: String) throws -> (TestDirectory, path: String) {
        let directory = try TestDirectory()
        let path = directory.path("keys")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o600)
        return (directory, path)
    }

    @Test(arguments: [
        ("cloudflare", "/cdn-cgi/image/width=30,height=20,fit=cover,format=png/a.jpg"),
        ("imgproxy", "/unsafe/rs:fill:30:20:1/plain/a.jpg@png"),
        ("thumbor", "/unsafe/30x20/filters:format(png)/a.jpg"), ("imagor", "/unsafe/30x20/filters:format(png)/a.jpg"),
    ])
    func `an image under another service's URL is the same stored image as under this service's`(
        _ style: String, _ theirs: String
    ) async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""), "--url-style", style)
        let client = try Client(server.port)
        let first = try #require(client.get(theirs))
        #expect(first.status == 200 && first["Content-Type"] == "image/png", "\(first.text)")
        let info = try ImageInfo.read(ImageSource(first.body))
        #expect(info.width == 30 && info.height == 20)
        let second = try #require(client.get("/image/w=30,h=20,fit=cover,f=png/a.jpg"))
        #expect(second.body == first.body && second["Cache-Status"] == "imgcache; hit; detail=memory")
        #expect(origin.requests.map(\.request.target) == ["/a.jpg"])
        // The log has the URL as the client sent it.
        #expect(await server.logs { $0.contains { $0["target"] as? String == theirs } }, "\(server.log)")
    }

    @Test func `another service's URL needs a valid signature, which replaces this service's own`() async throws {
        let origin = try Self.origin()
        let (directory, path) = try keyFile("my-security-key\n")
        let own = try keyFile("k:\(Data(repeating: 7, count: 32).base64EncodedString())\n")
        defer { withExtendedLifetime((directory, own)) {} }
        let server = try await ServerProcess(
            origin: origin.url(""), "--url-style", "thumbor", "--url-style-keys", path, "--signing-key-files", own.path)
        let client = try Client(server.port)
        // HMAC with SHA-1 of "300x200/smart/path/to/image.jpg".
        let signed = "/TaWoUq6tvBe2HywzAULy6_Np-2k=/300x200/smart/path/to/image.jpg"
        #expect(client.get(signed)?.status == 200)
        for (target, error) in [
            ("/unsafe/300x200/smart/path/to/image.jpg", "signature-"), (signed + "x", "signature-wrong"),
            ("/image/w=1/a.jpg", "signature-missing"),
        ] {
            let answer = client.get(target)
            #expect(answer?.status == 403 && answer?.text.contains(error) == true, "\(target)")
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `where another service's signatures are the only ones, this service's own URLs are refused`()
        async throws
    {
        let origin = try Self.origin()
        let (directory, path) = try keyFile("my-security-key\n")
        defer { withExtendedLifetime(directory) {} }
        let server = try await ServerProcess(
            origin: origin.url(""), "--url-style", "thumbor", "--url-style-keys", path, "--set-response-fields",
            "X-A: b")
        let client = try Client(server.port)
        for target in ["/image/w=1/a.jpg", "/image/info/a.jpg", "/unsafe/1x1/a.jpg"] {
            let answer = client.get(target)
            #expect(answer?.status == 403 && answer?["X-A"] == "b", "\(target)")
        }
        #expect(client.get("/TaWoUq6tvBe2HywzAULy6_Np-2k=/300x200/smart/path/to/image.jpg")?.status == 200)
        #expect(origin.requests.count == 1)
    }

    @Test func `without its keys another service's URL does not get around this service's signatures`() async throws {
        let origin = try Self.origin()
        let own = try keyFile("k:\(Data(repeating: 7, count: 32).base64EncodedString())\n")
        let server = try await ServerProcess(
            origin: origin.url(""), "--url-style", "imgproxy", "--signing-key-files", own.path)
        let answer = try Client(server.port).get("/unsafe/w:10/plain/a.jpg")
        #expect(answer?.status == 403 && answer?.text.contains("signature-missing") == true)
        let unknown = try Client(server.port).get("/unsafe/pixelate:3/plain/a.jpg")
        #expect(unknown?.status == 400 && unknown?.text.contains("pixelate") == true)
        #expect(origin.requests.isEmpty)
    }

    @Test func `a response's lifetime ends with the expiry of its URL, which then gets 403`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(
            origin: origin.url(""), "--url-style", "imgproxy", "--default-ttl", "1h", "--min-ttl", "1h")
        let client = try Client(server.port)
        let now = Int(Date().timeIntervalSince1970)
        for _ in 1...2 {
            let answer = try #require(client.get("/unsafe/w:10/exp:\(now + 100)/plain/a.jpg"))
            #expect(answer.status == 200)
            let told = try #require(answer["Cache-Control"]?.firstMatch(of: /max-age=([0-9]+)/)?.1)
            #expect((1...101).contains(Int(told) ?? 0), "\(told)")
        }
        let open = try #require(client.get("/unsafe/w:10/plain/a.jpg"))
        #expect(open["Cache-Control"]?.contains("max-age=3") == true, "\(open["Cache-Control"] ?? "none")")
        let late = client.get("/unsafe/w:10/exp:\(now - 1)/plain/a.jpg")
        #expect(late?.status == 403 && late?.text.contains("expired") == true)
    }

    @Test(arguments: [
        (["--url-style", "other"], "must be one of cloudflare, imgproxy, thumbor, imagor, iiif"),
        (["--url-style-keys", "/dev/null"], "needs url-style"),
        (["--url-style", "imgproxy", "--url-style-keys", "/proc/version"], "cannot be used"),
        (["--url-style", "iiif", "--url-style-keys", "/dev/null"], "URLs of iiif have no signatures"),
    ])
    func `invalid settings of the URL style are reported`(_ options: [String], _ text: String) async throws {
        let directory = try TestDirectory()
        let process = try ChildProcess(
            ServerProcess.executable,
            ["--origin", "http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--cache-dir", directory.path("c")] + options,
            environment: ["HOME": directory.path])
        #expect(await process.end() != .exited(0))
        #expect(process.errorOutput.contains(text), "\(process.errorOutput)")
    }

    @Test func `extend fills the box around an image that is not enlarged`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let original = try ImageInfo.read(ImageSource(GradientPicture.bytes))
        let (width, height) = (original.width + 40, original.height + 30)
        let answer = try #require(
            try Client(server.port).get("/image/w=\(width),h=\(height),fit=extend,bg=ff0000,f=png/a.jpg"))
        #expect(answer.status == 200, "\(answer.text)")
        let image = try ImageDecoder().decode(ImageSource(answer.body))
        #expect(image.width == width && image.height == height)
        #expect(image[2, 2] == SIMD4(255, 0, 0, 255))
        let padded = try #require(
            try Client(server.port).get("/image/w=\(width),h=\(height),fit=pad,bg=ff0000,f=png/a.jpg"))
        #expect(padded.body != answer.body)
    }
}
