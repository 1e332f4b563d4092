import ConcurrencyPrimitives
import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing
import URLSigning

/// `/image/OPTIONS/PATH` through real sockets.
@Suite(.fewAtATime(limit: .seconds(180))) struct ImageTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func origin(
        cacheControl: String = "public, max-age=600", _ fields: [(name: String, value: String)] = []
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            let head = [
                ("ETag", "\"1\""), ("Last-Modified", Self.date), ("Cache-Control", cacheControl),
                ("Content-Length", "\(GradientPicture.bytes.count)"), ("Date", httpDate(Date())),
            ]
            return [.head(status: 200, fields: head + fields), .body(GradientPicture.bytes)]
        }
    }

    private func info(_ answer: Client.Response) throws -> ImageInfo { try ImageInfo.read(ImageSource(answer.body)) }

    @Test
    func `an image is made once, in the size that is asked for, and lives as long as its original`() async throws {
        let origin = try origin([("Age", "100")])
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let first = try #require(client.get("/image/w=100,h=80,fit=cover,f=png/a.jpg?v=1"))
        #expect(first.status == 200, "\(first.text)")
        let info = try info(first)
        #expect(info.format == .png && info.width == 100 && info.height == 80)
        #expect(first["Content-Type"] == "image/png")
        #expect(first["X-Content-Type-Options"] == "nosniff")
        #expect(first["Vary"] == nil && first["Age"] == nil)
        #expect(first["ETag"]?.hasPrefix("\"") == true)
        #expect(first["Last-Modified"] == Self.date)
        let life = first["Cache-Control"]?.split(separator: "=").last.flatMap { Int($0) } ?? 0
        #expect(
            first["Cache-Control"]?.hasPrefix("public, max-age=") == true && (400...500).contains(life),
            "\(first.fields)")
        let second = try #require(client.get("/image/height=80,width=100,fit=cover,format=png/a.jpg?v=1"))
        #expect(second.body == first.body && second["ETag"] == first["ETag"])
        #expect(second["Cache-Status"] == "imgcache; hit; detail=memory")
        #expect(origin.requests.count == 1)
        #expect(origin.requests.first?.request.target == "/a.jpg?v=1")
    }

    @Test func `Cache-Status and the log report whether an image comes from memory, store, original or origin`()
        async throws
    {
        let origin = try origin()
        let directory = try TestDirectory()
        var told: [String] = []
        func get(_ paths: String..., from server: ServerProcess) throws {
            let client = try Client(server.port)
            for path in paths { told.append(try #require(client.get(path))["Cache-Status"] ?? "") }
        }
        let (small, large) = ("/image/w=50,f=png/a.jpg", "/image/w=90,f=png/a.jpg")
        for paths in [[small, large, small], [large, large]] {
            let server = try await ServerProcess(
                origin: origin.url(""), "--access-log", directory.path("log"), directory: directory)
            for path in paths { try get(path, from: server) }
            await server.stop()
        }
        #expect(
            told == [
                "imgcache; fwd=uri-miss", "imgcache; hit; detail=rendered", "imgcache; hit; detail=memory",
                "imgcache; hit",
                "imgcache; hit; detail=memory",
            ])
        let text = try String(contentsOfFile: directory.path("log"), encoding: .utf8)
        let logged = try text.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])["cache"] as? String
        }
        #expect(logged == ["miss", "rendered", "memory", "hit", "memory"])
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: [("inside", "scale-down"), ("fill", "squeeze")])
    func `the names of a shape give the same bytes under one cache key`(css: String, cloudflare: String) async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let first = try #require(client.get("/image/w=100,h=80,fit=\(css),f=png/a.jpg"))
        #expect(first.status == 200, "\(first.text)")
        let second = try #require(client.get("/image/w=100,h=80,fit=\(cloudflare),f=png/a.jpg"))
        #expect(second.body == first.body && second["ETag"] == first["ETag"])
        #expect(second["Cache-Status"] == "imgcache; hit; detail=memory")
        #expect(origin.requests.count == 1)
    }

    @Test func `an automatic format follows the Accept field`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let webp = try #require(client.get("/image/w=50,format=auto/a.jpg", "Accept: image/webp,*/*;q=0.8"))
        let jpeg = try #require(client.get("/image/w=50,format=auto/a.jpg", "Accept: */*"))
        #expect(try info(webp).format == .webp && webp["Content-Type"] == "image/webp")
        #expect(try info(jpeg).format == .jpeg && jpeg["Content-Type"] == "image/jpeg")
        #expect(webp["Vary"] == "Accept" && jpeg["Vary"] == "Accept")
        #expect(webp["ETag"] != jpeg["ETag"])
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: [true, false])
    func `conditions, ranges and HEAD are answered as for any file`(isWarm: Bool) async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let path = "/image/w=50,f=jpeg/a.jpg"
        let whole = try #require(Client(server.port).get(path))
        let tag = try #require(whole["ETag"])
        func ask(_ fields: String, method: String = "GET") throws -> Client.Response {
            // Another quality is another image, which is not in memory.
            let path = isWarm ? path : "/image/w=50,f=jpeg,q=\(80 - fields.utf8.count % 20)/a.jpg"
            return try #require(Client(server.port).ask("\(method) \(path) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n"))
        }
        let length = try #require(whole["Content-Length"])
        let head = try ask("", method: "HEAD")
        #expect(head.status == 200 && head.body.isEmpty && (!isWarm || head["Content-Length"] == length))
        let part = try ask("Range: bytes=10-19\r\n")
        #expect(part.status == 206 && part.body.count == 10)
        #expect(part["Content-Range"]?.hasPrefix("bytes 10-19/") == true)
        let beyond = try ask("Range: bytes=9999999-\r\n")
        #expect(beyond.status == 416 && beyond["Content-Range"]?.hasPrefix("bytes */") == true)
        let unchanged = try ask("If-Modified-Since: \(Self.date)\r\n")
        #expect(unchanged.status == 304 && unchanged.body.isEmpty && unchanged["ETag"] != nil)
        #expect(unchanged["Cache-Control"]?.hasPrefix("public, max-age=") == true)
        #expect(try ask("If-None-Match: \"other\"\r\n").status == 200)
        guard isWarm else { return }
        #expect(part.body == Array(whole.body[10..<20]))
        #expect(beyond["Content-Range"] == "bytes */\(length)")
        #expect(try ask("If-None-Match: \"x\", \(tag)\r\n").status == 304)
        #expect(try ask("If-Range: \(tag)\r\nRange: bytes=-5\r\n").body == Array(whole.body.suffix(5)))
        #expect(try ask("If-Range: \"x\"\r\nRange: bytes=-5\r\n").status == 200)
    }

    @Test(arguments: ["no-store", "private, max-age=60", "no-cache"])
    func `an image that must not be stored is made for each request and keeps its Cache-Control`(cacheControl: String)
        async throws
    {
        let origin = try origin(cacheControl: cacheControl)
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        for _ in 0..<2 {
            let answer = try #require(client.get("/image/w=50/a.jpg"))
            #expect(answer.status == 200)
            #expect(answer["Cache-Control"]?.hasPrefix(cacheControl.prefix { $0 != "=" }) == true, "\(answer.fields)")
        }
        #expect(origin.requests.count == 2)
    }

    @Test func `an invalid image request is refused with the reason, without a request to the origin`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""), "--widths", "50,100")
        let client = try Client(server.port)
        for (path, status, text) in [
            ("/image/w=0/a.jpg", 400, "\\\"w\\\""), ("/image/w=50,w=50/a.jpg", 400, "more than once"),
            ("/image/w=50,solarize=1/a.jpg", 400, "\\\"solarize\\\""), ("/image/w=51/a.jpg", 400, "51"),
            ("/image/h=50/a.jpg", 400, "width"), ("/image/a.jpg", 400, "bad-target"),
            ("/image/w=50/../a.jpg", 400, "bad-target"),
        ] {
            let answer = try #require(client.get(path))
            #expect(answer.status == status && answer.text.contains(text), "\(path): \(answer.text)")
            #expect(answer["Cache-Control"] == "no-store" && answer["Content-Type"] == "application/json")
        }
        let post = try #require(client.ask("POST /image/w=50/a.jpg HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"))
        #expect(post.status == 405 && post["Allow"] == "GET, HEAD, OPTIONS")
        #expect(origin.connections == 0)
    }

    @Test func `a failing origin and an original that is not an image get the right status`() async throws {
        let picture = GradientPicture.bytes
        let origin = try ScriptedOrigin { request -> [OriginStep] in
            func whole(_ bytes: [UInt8], length: Int? = nil) -> [OriginStep] {
                [.head(status: 200, fields: [("Content-Length", "\(length ?? bytes.count)")]), .body(bytes)]
            }
            switch request.path {
            case "/missing": return [.head(status: 404, fields: [("Content-Length", "0")])]
            case "/gone": return [.head(status: 410, fields: [("Content-Length", "0")])]
            case "/secret": return [.head(status: 403, fields: [("Content-Length", "0")])]
            case "/broken": return [.head(status: 500, fields: [("Content-Length", "0")])]
            case "/text": return whole(Array("<html>no image</html>".utf8))
            case "/short": return whole(Array(picture.prefix(2000)))
            case "/cut": return whole(Array(picture.prefix(2000)), length: picture.count) + [.cut(reset: false)]
            case "/stalls": return [.head(status: 200, fields: [("Content-Length", "5000")]), .stall]
            default: return whole(picture)
            }
        }
        let patient = try await ServerProcess(origin: origin.url(""))
        let impatient = try await ServerProcess(origin: origin.url(""), "--origin-timeout", "1s")
        for (path, status, error) in [
            ("/missing", 404, "not-found"), ("/gone", 410, "gone"), ("/secret", 403, "origin-forbids"),
            ("/broken", 502, "origin-status"), ("/text", 415, "not-an-image"), ("/short", 422, "image-truncated"),
            ("/cut", 502, "origin-unreachable"), ("/stalls", 504, "origin-timeout"),
        ] {
            let server = status == 504 ? impatient : patient
            let answer = try #require(Client(server.port).get("/image/w=50\(path)"))
            #expect(answer.status == status, "\(path): \(answer.text)")
            #expect(answer.text.hasPrefix("{\"error\":\"\(error)\""), "\(path): \(answer.text)")
        }
        for (limit, value, error) in [("bytes", "1000", "too-large"), ("pixels", "307199", "image-too-large")] {
            let option = limit == "bytes" ? "--max-image-bytes" : "--max-pixels"
            let small = try await ServerProcess(origin: origin.url(""), option, value)
            let answer = try #require(Client(small.port).get("/image/w=50/a"))
            #expect(answer.status == 422 && answer.text.hasPrefix("{\"error\":\"\(error)\""), "\(answer.text)")
        }
    }

    @Test func `an image of a damaged original is served for a minute and marked, or refused`() async throws {
        var damaged = GradientPicture.bytes
        damaged.insert(contentsOf: [UInt8](repeating: 0x5A, count: 200), at: damaged.count - 2)
        let origin = try ScriptedOrigin { [damaged] request in
            let life = request.path == "/short" ? "max-age=5" : "public, max-age=86400, immutable"
            return [
                .head(status: 200, fields: [("Cache-Control", life), ("Content-Length", "\(damaged.count)")]),
                .body(damaged),
            ]
        }
        let store = try TestDirectory()
        for round in 0..<2 {
            let server = try await ServerProcess(
                origin: origin.url(""), "--cache-dir", store.path("cache"), "--admin", "127.0.0.1:0")
            let client = try Client(server.port)
            // Made, from memory, and in the next round from disk.
            for _ in 0..<2 {
                let answer = try #require(client.get("/image/w=50/a.jpg"))
                #expect(answer.status == 200, "\(answer.text)")
                let life = answer["Cache-Control"]?.split(separator: "=").last.flatMap { Int($0) }
                #expect(answer["Cache-Control"]?.hasPrefix("public, max-age=") == true)
                #expect(life.map { (50...60).contains($0) } == true, "\(answer.fields)")
                #expect(answer["Cache-Status"]?.hasSuffix("; detail=damaged") == true, "\(answer.fields)")
            }
            if round == 0 {
                let short = try #require(client.get("/image/w=50/short"))
                let shorter = short["Cache-Control"]?.split(separator: "=").last.flatMap { Int($0) }
                #expect(shorter.map { (0...5).contains($0) } == true, "\(short.fields)")
                let metrics = try #require(
                    Client(server.adminPort()).ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"))
                #expect(metrics.text.contains("imgcache_images_damaged_total 2"))
            }
            server.process.send(signal: SIGTERM)
            _ = await server.process.end()
        }
        let strict = try await ServerProcess(
            origin: origin.url(""), "--cache-dir", store.path("cache"), "--damaged", "refuse", "--fallback-image",
            try store.write(GradientPicture.bytes, to: "fallback.jpg"))
        let client = try Client(strict.port)
        // The second time because it is remembered, and once more from the image in memory.
        for (path, cacheStatus) in [
            ("/image/w=50/a.jpg", "fwd=uri-miss"), ("/image/w=50/a.jpg", "detail=NEGATIVE"),
            ("/image/w=49/a.jpg", "fwd=uri-miss"),
        ] {
            let answer = try #require(client.get(path))
            #expect(answer.status == 422 && answer.text.contains("image-damaged"), "\(answer.text)")
            #expect(answer["Cache-Status"]?.hasSuffix(cacheStatus) == true, "\(answer.fields)")
            let image = try #require(client.get(path, "Accept: image/*"))
            #expect(image.status == 422 && image.body == GradientPicture.bytes, "\(image.fields)")
        }
        #expect(try #require(client.get("/a.jpg")).status == 200)
        #expect(origin.requests.count == 2)
    }

    @Test
    func `only signed URLs are served where there are keys, and the origin never sees the signature`() async throws {
        let origin = try origin(cacheControl: "public, max-age=86400, immutable")
        let files = try TestDirectory()
        let text = "new:AAECAwQFBgcICQoLDA0ODw==\nold:/v79/Pv6+fj39vX08/Lx8A==\n"
        try text.write(toFile: files.path("keys"), atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: files.path("keys"))
        let server = try await ServerProcess(origin: origin.url(""), "--signing-key-files", files.path("keys"))
        let client = try Client(server.port)
        let signer = URLSigner(try SigningKeys(text: text))
        let now = Int64(Date().timeIntervalSince1970)

        for keyID in ["new", "old"] {
            let target = try signer.sign(target: "/image/w=50/a.jpg?v=1", expiry: now + 60, keyID: keyID)
            let answer = try #require(client.get(target))
            #expect(answer.status == 200, "\(answer.text)")
            let life = answer["Cache-Control"]?.split(separator: "=").last.flatMap { Int($0) } ?? 0
            #expect((1...61).contains(life), "\(answer.fields)")
        }
        #expect(origin.requests.map(\.request.target) == ["/a.jpg?v=1"])

        let signed = try signer.sign(target: "/image/w=50/b.jpg")
        for (target, error) in [
            ("/image/w=50/b.jpg", "signature-missing"), (signed.replacing("w=50", with: "w=51"), "signature-wrong"),
            (signed + "&x=1", "signature-malformed"), (signed.replacing("kid=new", with: "kid=abc"), "signature-key"),
            (try signer.sign(target: "/image/w=50/b.jpg", expiry: now - 1), "signature-expired"),
        ] {
            let answer = try #require(client.get(target))
            #expect(answer.status == 403 && answer.text.contains(error), "\(target): \(answer.text)")
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `SIGHUP reloads keys and widths, and an invalid key file keeps the former keys`() async throws {
        let origin = try origin()
        let files = try TestDirectory()
        func write(_ text: String, to name: String) throws -> String {
            try text.write(toFile: files.path(name), atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: files.path(name))
            return files.path(name)
        }
        let (old, new) = ("old:AAECAwQFBgcICQoLDA0ODw==\n", "new:/v79/Pv6+fj39vX08/Lx8A==\n")
        let keys = try write(old, to: "keys")
        let settings = try write(#"{"signing-key-files": ["\#(keys)"], "widths": [50]}"#, to: "server.json")
        let server = try await ServerProcess(origin: origin.url(""), "--config", settings)
        let signer = URLSigner(try SigningKeys(text: new + old))
        let byOld = try signer.sign(target: "/image/w=50/a.jpg", keyID: "old")
        let byNew = try signer.sign(target: "/image/w=60/a.jpg", keyID: "new")
        func status(_ target: String) throws -> Int? { try Client(server.port).get(target)?.status }
        #expect(try status(byOld) == 200)
        #expect(try status(byNew) == 403)

        _ = try write(new + "nonsense", to: "keys")
        server.process.send(signal: SIGHUP)
        #expect(await server.process.says("line 2 is not id:base64"), "\(server.process.errorOutput)")
        #expect(try status(byOld) == 200)

        _ = try write(new + old, to: "keys")
        _ = try write(#"{"signing-key-files": ["\#(keys)"], "widths": [50, 60]}"#, to: "server.json")
        server.process.send(signal: SIGHUP)
        #expect(await server.process.says("configuration reloaded"), "\(server.process.errorOutput)")
        #expect(try status(byOld) == 200)
        #expect(try status(byNew) == 200)
    }

    @Test func `100 clients of one image that is not there yet cost one request to the origin`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { _ -> [OriginStep] in
            [
                .wait(for: gate),
                // Fresh: some of the clients may come when it has been made already.
                .head(
                    status: 200,
                    fields: [("Content-Length", "\(GradientPicture.bytes.count)"), ("Cache-Control", "max-age=60")]),
                .body(GradientPicture.bytes),
            ]
        }
        let server = try await ServerProcess(origin: origin.url(""))
        let clients = try (0..<100).map { _ in try Client(server.port) }
        for client in clients { client.send("GET /image/w=50,f=webp/a.jpg HTTP/1.1\r\nHost: x\r\n\r\n") }
        #expect(await origin.waits { $0.count == 1 })
        gate.open()
        let answers = clients.map { $0.answer() }
        #expect(answers.allSatisfy { $0?.status == 200 && $0?.body == answers[0]?.body })
        #expect(origin.requests.count == 1)
    }
}
