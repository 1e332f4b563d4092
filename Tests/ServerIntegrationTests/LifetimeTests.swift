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

    @Test func `what must not be stored is asked for each time, whatever the limits`() async throws {
        let origin = try origin([("Cache-Control", "no-store")])
        let server = try await ServerProcess(origin: origin.url(""), "--default-ttl", "10m", "--min-ttl", "5m")
        let client = try Client(server.port)
        for _ in 0..<2 { #expect(client.get("/a.jpg")?["Cache-Control"] == "no-store") }
        #expect(origin.requests.count == 2)
    }
}
