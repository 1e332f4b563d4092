import TestSupport
import Testing

@Suite(.enabled(if: Nginx.unavailableReason == nil, "\(Nginx.unavailableReason ?? "")"))
struct NginxOriginTests {
    private static let content = Content(seed: 11, size: 700_000)

    @Test
    func `nginx as origin: one stored file answers whole, range, conditional and HEAD requests`()
        async throws
    {
        var options = Nginx.Options()
        options.directives = "add_header Cache-Control max-age=600;"
        let nginx = try await Nginx(options)
        try nginx.serve(Self.content, as: "a.jpg")
        let server = try await ServerProcess(origin: nginx.url(""))
        let client = try Client(server.port)
        let whole = try #require(client.get("/a.jpg"))
        #expect(whole.status == 200)
        #expect(whole.body == Self.content.bytes())
        #expect(whole["Content-Type"] == "image/jpeg")
        let tag = try #require(whole["ETag"])

        let part = try #require(client.get("/a.jpg", "Range: bytes=1000-1999"))
        #expect(part.status == 206)
        #expect(part["Content-Range"] == "bytes 1000-1999/700000")
        #expect(part.body == Self.content.bytes(1000..<2000))
        #expect(client.get("/a.jpg", "Range: bytes=700000-")?.status == 416)
        let unchanged = client.get("/a.jpg", "If-None-Match: \(tag)")
        #expect(unchanged?.status == 304)
        #expect(unchanged?["ETag"] == tag)
        let head = client.ask("HEAD /a.jpg HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(head?["Content-Length"] == "700000")
        #expect(try await nginx.requests(atLeast: 1).count == 1)
    }

    @Test func `nginx as origin: a changed file is fetched again, and an unchanged one is revalidated`() async throws {
        var options = Nginx.Options()
        options.directives = "add_header Cache-Control no-cache;"
        let nginx = try await Nginx(options)
        try nginx.serve(Self.content, as: "a.jpg")
        let server = try await ServerProcess(origin: nginx.url(""))
        let client = try Client(server.port)
        #expect(client.get("/a.jpg")?.body == Self.content.bytes())
        #expect(client.get("/a.jpg")?.body == Self.content.bytes())
        let other = Content(seed: 12, size: 1234)
        try nginx.serve(other, as: "a.jpg")
        #expect(client.get("/a.jpg")?.body == other.bytes())
        #expect(await server.logs { $0.map { $0["cache"] as? String } == ["miss", "revalidated", "miss"] })
        #expect(try await nginx.requests(atLeast: 3).map(\.status) == [200, 304, 200])
    }

    @Test func `nginx as origin: its error pages, redirects and refusals go through with their fields`() async throws {
        var options = Nginx.Options()
        options.directives = "location = /moved { return 301 /a.jpg; }"
        let nginx = try await Nginx(options)
        let server = try await ServerProcess(origin: nginx.url(""))
        let client = try Client(server.port)
        let missing = client.get("/none")
        #expect(missing?.status == 404)
        #expect(missing?.text.contains("nginx") == true)
        let moved = client.get("/moved")
        #expect(moved?.status == 301)
        #expect(moved?["Location"]?.hasSuffix("/a.jpg") == true)
        #expect(client.ask("PUT /a.jpg HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")?.status == 405)
    }
}
