import TestSupport
import Testing

/// With `--origin http://host/public` nothing outside of `/public` is requested, in any spelling and any reading.
@Suite(.fewAtATime) struct BasePathTests {
    private let origin: ScriptedOrigin

    init() throws {
        origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 1000))
    }

    @Test func `no spelling leads out of the origin's base path`() async throws {
        let server = try await ServerProcess(origin: origin.url("/public"))
        let client = try Client(server.port)
        let paths = [
            "/%%32%65%%32%65/private/s.txt", "/%2%65%2%65/private/s.txt", "/..%2fprivate/s.txt", "/..;/private/s.txt",
            "/%252e%252e/private/s.txt", "/a/..%5c..%5cprivate/s.txt", "/%2e%2e;x=y/private", "/../private/s.txt",
            "/%2e%2e/private", "/..%00/private", "/%c0%ae%c0%ae/private",
        ]
        for path in paths + paths.map({ "/image/w=10\($0)" }) {
            let answer = try #require(client.get(path), "\(path)")
            #expect(answer.status == 400, "\(path): \(answer.text)")
        }
        for authority in ["127.0.0.1:\(origin.port)", "127.0.0.1:0\(origin.port)"] {
            for path in ["private/s.jpg", "publicity/s.jpg", "", "public/..%2fprivate/s.jpg", "public%2fs.jpg"] {
                let answer = try #require(client.get("/image/w=10/http://\(authority)/\(path)"))
                #expect([400, 403].contains(answer.status), "\(path): \(answer.text)")
            }
        }
        #expect(origin.connections == 0)
        #expect(try #require(client.get("/a%20b;c/d")).status == 200)
        #expect(origin.requests.map(\.request.target) == ["/public/a%20b;c/d"])
    }

    @Test func `a percent sign that is not an escape is refused and does not poison the cache`() async throws {
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        #expect(try #require(client.get("/admin")).status == 200)
        for path in ["/%%36%31dmin", "/%", "/100%/a", "/a?b=%zz"] {
            #expect(try #require(client.get(path)).status == 400, "\(path)")
        }
        let answer = try #require(client.get("/admin"))
        #expect(answer.status == 200 && answer["Cache-Status"]?.hasPrefix("imgcache; hit") == true)
        #expect(origin.requests.map(\.request.target) == ["/admin"])
    }
}
