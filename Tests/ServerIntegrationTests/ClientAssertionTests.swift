import TestSupport
import Testing

/// Assertions of a client outside its request line and Host. Their effect would be stored for all clients.
@Suite(.fewAtATime) struct ClientAssertionTests {
    private static let assertions = [
        "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: ftp", "X-Forwarded-For: 6.6.6.6",
        "X-Forwarded-Prefix: /evil",
        "X-Host: evil.example", "X-Original-URL: /admin", "X-Rewrite-URL: /admin", "X-HTTP-Method-Override: DELETE",
        "X-HTTP-Method: DELETE", "X-Method-Override: DELETE", "Forwarded: host=evil.example",
        "x_forwarded_host: evil.example",
        "X-Real-IP: 6.6.6.6",
    ]

    @Test func `a client's assertions do not reach the origin`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 100))
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let fields = Self.assertions.joined(separator: "\r\n")
        #expect(client.ask("GET /a HTTP/1.1\r\nHost: x\r\nX-Kept: yes\r\n\(fields)\r\n\r\n")?.status == 200)
        #expect(client.ask("POST /b HTTP/1.1\r\nHost: x\r\n\(fields)\r\nContent-Length: 0\r\n\r\n")?.status == 200)
        try #require(origin.requests.count == 2)
        #expect(origin.requests[0]["X-Kept"] == "yes")
        for request in origin.requests {
            for line in Self.assertions {
                let name = String(line.prefix { $0 != ":" })
                #expect(request[name] == nil, "\(name)")
            }
        }
    }

    @Test func `a field that is passed on is part of the cache key`() async throws {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: request["X-Forwarded-Host"] == nil ? 1 : 2, size: 100))
        }
        let server = try await ServerProcess(origin: origin.url(""), "--pass-fields", "X-Forwarded-Host")
        let client = try Client(server.port)
        let evil = client.get("/a", "X-Forwarded-Host: evil.example", "X-Host: evil.example")
        #expect(evil?.status == 200)
        #expect(origin.requests.map { $0["X-Forwarded-Host"] } == ["evil.example"])
        #expect(origin.requests.first?["X-Host"] == nil)
        // THEN other clients do not receive its response, and each value has its own, also from memory.
        var statuses: [String?] = []
        for _ in 0..<3 {
            let (plain, same) = (client.get("/a"), client.get("/a", "X-Forwarded-Host: evil.example"))
            #expect(plain?.body != evil?.body && same?.body == evil?.body)
            statuses += [plain?["Cache-Status"], same?["Cache-Status"]]
        }
        #expect(client.get("/a", "X-Forwarded-Host: third.example")?.status == 200)
        #expect(origin.requests.count == 3, "\(statuses)")
    }

    @Test func `the origin gets a Forwarded field that continues only what a trusted proxy reports`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 100))
        let server = try await ServerProcess(origin: origin.url(""), "--forwarded", "--trusted-proxies", "127.0.0.2")
        for source in ["127.0.0.2", "127.0.0.3"] {
            let client = try Client(server.port, from: source)
            #expect(client.ask("GET /\(source) HTTP/1.1\r\nHost: x\r\nForwarded: for=6.6.6.6\r\n\r\n")?.status == 200)
        }
        #expect(origin.requests[0]["Forwarded"] == "for=6.6.6.6, for=127.0.0.2;host=\"x\";proto=http")
        #expect(origin.requests[1]["Forwarded"] == "for=127.0.0.3;host=\"x\";proto=http")
        for source in ["127.0.0.2", "127.0.0.3"] {
            let client = try Client(server.port, from: source)
            #expect(client.get("/for-\(source)", "X-Forwarded-For: 7.7.7.7")?.status == 200)
        }
        #expect(origin.requests[2]["Forwarded"]?.hasPrefix("for=7.7.7.7, for=127.0.0.2;") == true)
        #expect(origin.requests[3]["Forwarded"]?.hasPrefix("for=127.0.0.3;") == true)
    }
}
