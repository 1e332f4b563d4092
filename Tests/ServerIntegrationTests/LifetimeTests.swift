import TestSupport
import Testing

/// Lifetimes that the operator sets, through real sockets.
@Suite(.fewAtATime) struct LifetimeTests {
    private func origin(_ fields: [(name: String, value: String)]) throws -> ScriptedOrigin {
        let bytes = GradientPicture.bytes
        return try ScriptedOrigin { _ in
            [.head(status: 200, fields: [("Content-Length", "\(bytes.count)")] + fields), .body(bytes)]
        }
    }

    @Test func `an origin without validators sends an original once, however many thumbnails are asked for`()
        async throws
    {
        let origin = try origin([])
        let server = try await ServerProcess(origin: origin.url(""), "--default-ttl", "10m")
        let client = try Client(server.port)
        for width in [50, 60, 70] {
            let image = try #require(client.get("/image/w=\(width),f=png/a.jpg"))
            #expect(image.status == 200)
            #expect(image["Cache-Control"]?.contains("max-age=") == true, "\(image.fields)")
        }
        #expect(client.get("/a.jpg")?["Cache-Control"] == "max-age=600")
        #expect(origin.requests.count == 1)
    }

    @Test func `each limit reaches clients and store, and an origin may have its own`() async throws {
        let origin = try origin([("Cache-Control", "max-age=1")])
        let server = try await ServerProcess(
            origin: origin.url(""), "--min-ttl", "5m", "--max-ttl", "1h", "--stale-ttl", "30s")
        let client = try Client(server.port)
        for _ in 0..<2 {
            #expect(
                client.get("/a.jpg")?["Cache-Control"]
                    == "max-age=300, stale-while-revalidate=30, stale-if-error=30")
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `a response that must not be stored is requested each time, whatever the limits`() async throws {
        let origin = try origin([("Cache-Control", "no-store")])
        let server = try await ServerProcess(origin: origin.url(""), "--default-ttl", "10m", "--min-ttl", "5m")
        let client = try Client(server.port)
        for _ in 0..<2 { #expect(client.get("/a.jpg")?["Cache-Control"] == "no-store") }
        #expect(origin.requests.count == 2)
    }

    @Test func `statuses and paths have lifetimes of their own, and Cache-Status names them`() async throws {
        let origin = try ScriptedOrigin { request in
            let status = request.path.hasPrefix("/gone") ? 404 : 200
            let cacheControl = request.path.hasPrefix("/mine") ? [("Cache-Control", "private, max-age=5")] : []
            return [.head(status: status, fields: [("Content-Length", "2")] + cacheControl), .body([1, 2])]
        }
        let server = try await ServerProcess(
            origin: origin.url(""), "--default-ttl", "10m", "--ttl-rules",
            "/news/*: max-ttl=1m; 404: default-ttl=10s; /mine/*: override-private,min-ttl=30s")
        let client = try Client(server.port)
        let cases = [
            ("/a", 200, "max-age=600", "default-ttl"), ("/news/a", 200, "max-age=60", "max-ttl"),
            ("/gone", 404, "max-age=10", "default-ttl"),
            ("/mine/a", 200, "max-age=30", "\"override-private min-ttl\""),
        ]
        for (path, status, cacheControl, detail) in cases {
            for turn in 0..<2 {
                let response = try #require(client.get(path))
                #expect(response.status == status && response["Cache-Control"] == cacheControl, "\(response.fields)")
                let note = response["Cache-Status"] ?? ""
                #expect(note.hasPrefix("imgcache; detail=\(detail), imgcache; \(turn == 0 ? "fwd" : "hit")"), "\(note)")
            }
            #expect(origin.requests.count { $0.request.path == path } == 1)
        }
        for _ in 0..<2 { #expect(client.get("/mineral")?["Cache-Control"] == "private, max-age=5") }
        #expect(origin.requests.count { $0.request.path == "/mineral" } == 2)
    }

    @Test func `images have the configured lifetime for clients, unless the original forbids it`() async throws {
        let bytes = GradientPicture.bytes
        let origin = try ScriptedOrigin { request in
            let value = request.path == "/open.jpg" ? "max-age=60" : String(request.path.dropFirst().dropLast(4))
            return [
                .head(status: 200, fields: [("Content-Length", "\(bytes.count)"), ("Cache-Control", value)]),
                .body(bytes),
            ]
        }
        let server = try await ServerProcess(
            origin: origin.url(""), "--image-max-age", "1d", "--image-stale-while-revalidate", "7d")
        let client = try Client(server.port)
        for _ in 0..<2 {
            let image = try #require(client.get("/image/w=50,f=png/open.jpg"))
            #expect(image["Cache-Control"] == "max-age=86400, stale-while-revalidate=604800")
        }
        #expect(client.get("/open.jpg")?["Cache-Control"] == "max-age=60")
        for value in ["no-store", "private", "no-cache"] {
            let image = try #require(client.get("/image/w=50,f=png/\(value).jpg"))
            #expect(image.status == 200 && image["Cache-Control"]?.contains(value) == true, "\(image.fields)")
            #expect(image["Cache-Control"]?.contains("86400") == false, "\(image.fields)")
        }
    }
}
