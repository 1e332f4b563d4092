import ConcurrencyPrimitives
import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// Presets, failures that are remembered, and images in their place, through real sockets.
@Suite(.fewAtATime) struct ImageOptionSettingTests {
    private static let picture: [UInt8] = {
        let image = try? DecodedImage(width: 80, height: 60) { memory in
            for index in 0..<(80 * 60) {
                memory[index * 4] = UInt8(index % 80 * 3)
                memory[index * 4 + 3] = 255
            }
        }
        return image.flatMap { try? ImageEncoder.jpeg(quality: 90).encode($0) } ?? []
    }()

    private func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request -> [OriginStep] in
            switch request.path {
            case "/missing": return [.head(status: 404, fields: [("Content-Length", "0")])]
            case "/broken": return [.head(status: 500, fields: [("Content-Length", "0")])]
            case "/text": return [.head(status: 200, fields: [("Content-Length", "4")]), .body(Array("text".utf8))]
            default:
                return [
                    .head(
                        status: 200,
                        fields: [("Content-Length", "\(Self.picture.count)"), ("Cache-Control", "max-age=600")]),
                    .body(Self.picture),
                ]
            }
        }
    }

    @Test func `a preset shares the cache key of its options, and default options apply to all images`() async throws {
        let origin = try origin()
        let files = try TestDirectory()
        try files.write(
            #"{"presets": {"card": "w=40,h=20,fit=cover,f=png", "icon": "w=8,f=png"}, "default-options": "q=70"}"#,
            to: "server.json")
        let server = try await ServerProcess(origin: origin.url(""), "--config", files.path("server.json"))
        let client = try Client(server.port)
        let first = try #require(client.get("/image/card/a.jpg"))
        #expect(first.status == 200, "\(first.text)")
        let info = try ImageInfo.read(ImageSource(first.body))
        #expect((info.width, info.height, info.format) == (40, 20, .png))
        let second = try #require(client.get("/image/fit=cover,w=40,h=20,format=png/a.jpg"))
        #expect(second["ETag"] == first["ETag"] && second["Cache-Status"] == "imgcache; hit; detail=memory")
        #expect(try ImageInfo.read(ImageSource(#require(client.get("/image/icon,w=9/a.jpg")).body)).width == 9)
        let low = try #require(client.get("/image/w=40,f=jpeg/a.jpg"))
        #expect(low.body == (try #require(client.get("/image/w=40,f=jpeg,q=70/a.jpg")).body))
        #expect(try #require(client.get("/image/poster/a.jpg")).status == 400)
        let unknown = try #require(client.get("/image/w=9,solarize=1/a.jpg"))
        #expect(unknown.status == 400 && unknown.text.contains("known are anim, background, blur"), "\(unknown.text)")

        try files.write(#"{"presets": {"icon": "w=8"}, "only-presets": true}"#, to: "server.json")
        server.process.send(signal: SIGHUP)
        #expect(await server.process.says("configuration reloaded"), "\(server.process.errorOutput)")
        let refused = try #require(client.get("/image/w=40/a.jpg"))
        #expect(refused.status == 400 && refused.text.contains("preset-required"), "\(refused.text)")
        #expect(try #require(client.get("/image/card/a.jpg")).status == 400)
        #expect(try #require(client.get("/image/icon/a.jpg")).status == 200)
    }

    @Test func `a missing original and one that is not an image are not requested again at once`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""), "--negative-ttl", "5m")
        let client = try Client(server.port)
        for (path, status) in [("/missing", 404), ("/text", 415)] {
            let first = try #require(client.get("/image/w=50\(path)"))
            #expect(first.status == status && first["Cache-Status"] == "imgcache; fwd=uri-miss", "\(first.fields)")
            let asked = origin.requests.count
            let second = try #require(client.get("/image/w=60\(path)"))
            #expect(second.status == status && second.body == first.body)
            let note = try #require(second["Cache-Status"])
            #expect(note.hasPrefix("imgcache; hit; ttl=") && note.hasSuffix("; detail=NEGATIVE"), "\(note)")
            #expect(second["Cache-Control"] == "no-store")
            #expect(origin.requests.count == asked)
        }
    }

    @Test func `an image that one format cannot hold is still served in other formats`() async throws {
        // WebP has 16,383 pixels at most.
        let wide = try ImageEncoder.png().encode(DecodedImage(width: 17_000, height: 1) { _ in })
        let origin = try ScriptedOrigin { _ in
            [
                .head(status: 200, fields: [("Content-Length", "\(wide.count)"), ("Cache-Control", "max-age=600")]),
                .body(wide),
            ]
        }
        let server = try await ServerProcess(origin: origin.url(""), "--negative-ttl", "5m")
        let client = try Client(server.port)
        let refused = try #require(client.get("/image/q=80/a.png", "Accept: image/webp"))
        #expect(refused.status == 422, "\(refused.text)")
        let again = try #require(client.get("/image/q=80/a.png", "Accept: image/webp"))
        #expect(again["Cache-Status"]?.hasSuffix("detail=NEGATIVE") == true, "\(again.fields)")
        for fields in [[], ["Accept: */*"], ["Accept: image/png"]] {
            let response = try #require(
                client.ask(
                    "GET /image/q=80/a.png HTTP/1.1\r\nHost: x\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"))
            #expect(response.status == 200, "\(fields): \(response.text)")
        }
    }

    @Test func `an image that is stored and fresh is served although its original has gone`() async throws {
        let isGone = Locked(false)
        let origin = try ScriptedOrigin { _ in
            if isGone.withLock({ $0 }) { return [.head(status: 404, fields: [("Content-Length", "0")])] }
            let fields = [("Content-Length", "\(Self.picture.count)"), ("Cache-Control", "max-age=86400")]
            return [.head(status: 200, fields: fields), .body(Self.picture)]
        }
        let first = try await ServerProcess(origin: origin.url(""))
        #expect(try #require(Client(first.port).get("/image/w=50/a.jpg")).status == 200)
        await first.stop()
        // The original leaves the disk, its image stays there, and in no memory.
        let files = FileManager.default.enumerator(atPath: first.directory.path("cache"))
        let paths = (files?.allObjects as? [String] ?? []).map { first.directory.path("cache") + "/" + $0 }
        let originals = paths.filter { FileManager.default.contents(atPath: $0) == Data(Self.picture) }
        #expect(originals.count == 1)
        for path in originals { try FileManager.default.removeItem(atPath: path) }
        isGone.withLock { $0 = true }
        let server = try await ServerProcess(
            origin: origin.url(""), "--negative-ttl", "5m", directory: first.directory)
        let client = try Client(server.port)
        #expect(try #require(client.get("/image/w=60/a.jpg")).status == 404)
        let asked = origin.requests.count
        #expect(try #require(client.get("/image/w=50/a.jpg")).status == 200)
        for _ in 0..<2 { #expect(try #require(client.get("/image/w=70/a.jpg")).status == 404) }
        #expect(origin.requests.count == asked)
    }

    @Test func `a purge removes remembered errors, and a lifetime of zero remembers none`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(
            origin: origin.url(""), "--negative-ttl", "5m", "--admin", "127.0.0.1:0", "--admin-token", "t")
        let client = try Client(server.port)
        #expect(try #require(client.get("/image/w=50/missing")).status == 404)
        let body = #"{"url":"\#(origin.url("/missing"))"}"#
        let purge = try #require(
            Client(server.adminPort()).ask(
                "POST /purge HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"))
        #expect(purge.status == 200, "\(purge.text)")
        #expect(try #require(client.get("/image/w=50/missing"))["Cache-Status"] == "imgcache; fwd=uri-miss")
        let none = try await ServerProcess(origin: origin.url(""), "--negative-ttl", "0")
        for _ in 0..<2 {
            #expect(
                try #require(Client(none.port).get("/image/w=50/missing"))["Cache-Status"] == "imgcache; fwd=uri-miss")
        }
    }

    @Test func `a fallback image replaces an error if the client asks for an image`() async throws {
        let origin = try origin()
        let files = try TestDirectory()
        let gone = try ImageEncoder.png().encode(DecodedImage(width: 1, height: 1) { $0[3] = 255 })
        try Data(Self.picture).write(to: URL(fileURLWithPath: files.path("any.jpg")))
        try Data(gone).write(to: URL(fileURLWithPath: files.path("gone.png")))
        let server = try await ServerProcess(
            origin: origin.url(""), "--fallback-image", files.path("any.jpg"), "--fallback-image",
            "404:\(files.path("gone.png"))")
        let client = try Client(server.port)
        let accept = "Accept: image/avif,image/webp,*/*;q=0.8"
        for (path, status, type, bytes) in [
            ("/missing", 404, "image/png", gone), ("/text", 415, "image/jpeg", Self.picture),
        ] {
            for _ in 0..<2 {
                let image = try #require(client.get("/image/w=50\(path)", accept))
                #expect(image.status == status && image.body == bytes && image["Content-Type"] == type)
                #expect(image["Vary"] == "Accept")
                let life = image["Cache-Control"]?.split(separator: "=").last.flatMap { Int($0) } ?? 0
                #expect(image["Cache-Control"]?.hasPrefix("max-age=") == true && (1...10).contains(life))
            }
            let json = try #require(client.get("/image/w=50\(path)", "Accept: */*"))
            #expect(json.status == status && json["Content-Type"] == "application/json")
            #expect(json["Cache-Control"] == "no-store" && json["Vary"] == "Accept")
        }
        // A failure that may pass is not kept, so its image is asked for again soon.
        let passing = try #require(client.get("/image/w=50/broken", accept))
        #expect(passing["Content-Type"] == "image/jpeg" && passing["Cache-Control"] == "max-age=1", "\(passing.status)")
        #expect(try #require(client.get("/image/w=0/missing", accept))["Content-Type"] == "application/json")
        let head = try #require(
            client.ask("HEAD /image/w=50/missing HTTP/1.1\r\nHost: x\r\n\(accept)\r\n\r\n"))
        #expect(head.status == 404 && head["Content-Type"] == "image/png" && head.body.isEmpty)
    }
}
