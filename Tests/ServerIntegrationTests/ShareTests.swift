import TestSupport
import Testing

/// The shares of clients, which are distinguished by their address: 127.0.0.2 is another client.
@Suite(.fewAtATime) struct ShareTests {
    private static let file = Representation(seed: 3, size: 1000)

    private static func gated(_ gate: Gate) throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            var behaviour = Behaviour(file)
            if request.path.hasPrefix("/held") { behaviour.gate = gate }
            return behaviour
        }
    }

    @Test func `one client does not take all connections to the origin`() async throws {
        let gate = Gate()
        let origin = try Self.gated(gate)
        let server = try await ServerProcess(origin: origin.url(""), "--origin-connections", "8")
        let greedy = try (1...8).map { try Client(server.port, from: "127.0.0.2", asking: "/held\($0)") }
        await origin.waits { $0.count == 2 }
        #expect(try Client(server.port, from: "127.0.0.3").get("/a")?.status == 200)
        #expect(origin.requests.count == 3, "a quarter of 8 for the one, and the other's")
        gate.open()
        #expect(greedy.allSatisfy { $0.answer()?.status == 200 })
    }

    @Test func `one client does not take all memory for the contents of requests`() async throws {
        let origin = try ScriptedOrigin(serving: Self.file)
        let server = try await ServerProcess(
            origin: origin.url(""), "--max-request-bodies", "400KiB", "--max-request-body", "100KiB")
        func post(_ source: String, sending count: Int) throws -> Client {
            let client = try Client(server.port, from: source)
            client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n")
            client.send([UInt8](repeating: 1, count: count))
            return client
        }
        // The first one is held, and is too much together with the other. At the very same time both might be refused.
        let first = try post("127.0.0.2", sending: 80_000)
        #expect(await eventually { first.isRead })
        let both = [first, try post("127.0.0.2", sending: 80_000)]
        #expect(await server.logs { $0.contains { $0["status"] as? Int == 429 } })
        #expect(try post("127.0.0.3", sending: 90_000).answer()?.status == 200)
        for client in both { client.send([UInt8](repeating: 1, count: 10_000)) }
        let answers = both.map { $0.answer() }
        #expect(Set(answers.map { $0?.status }) == [200, 429])
        #expect(answers.contains { $0?.status == 429 && $0?["Retry-After"] == "1" })
        // A client has its response a moment before the server is done with the request.
        let isGivenBack = try await eventually { try post("127.0.0.2", sending: 90_000).answer()?.status == 200 }
        #expect(isGivenBack, "what was held is given back")
    }

    @Test func `one client cannot take all connections, and is refused with Retry-After`() async throws {
        let origin = try ScriptedOrigin(serving: Self.file)
        let server = try await ServerProcess(
            origin: origin.url(""), "--max-connections", "12", "--retry-after", "5")
        var held: [Client] = []
        for _ in 0..<3 {
            let client = try Client(server.port, from: "127.0.0.2")
            #expect(client.get("/a")?.status == 200)
            held.append(client)
        }
        let refused = try Client(server.port, from: "127.0.0.2")
        let answer = refused.answer()
        #expect(answer?.status == 429)
        #expect(answer?["Retry-After"] == "5")
        #expect(answer?["Connection"] == "close")
        refused.finish()
        #expect(refused.isEnded)
        #expect(try Client(server.port, from: "127.0.0.3").get("/a")?.status == 200)
        for number in 4...6 {
            for _ in 0..<3 {
                let client = try Client(server.port, from: "127.0.0.\(number)")
                #expect(client.get("/a")?.status == 200)
                held.append(client)
            }
        }
        let late = try Client(server.port, from: "127.0.0.7")
        #expect(late.answer()?.status == 503, "now there are too many for all")
        held.removeAll()
        #expect(await server.answers(from: "127.0.0.2"), "closed connections are given back")
    }

    @Test func `one client that opens many connections does not keep others out`() async throws {
        let origin = try ScriptedOrigin(serving: Self.file)
        let server = try await ServerProcess(
            origin: origin.url(""), "--max-connections", "12", "--admin", "127.0.0.1:0")
        // These clients do not read their responses.
        let many = try (0..<200).map { _ in try Client(server.port, from: "127.0.0.2") }
        for number in 3...5 {
            #expect(try Client(server.port, from: "127.0.0.\(number)").get("/a")?.status == 200)
        }
        let statuses = many.map { $0.get("/a")?.status }
        #expect(statuses.count { $0 == 200 } <= 3 && statuses.count { $0 == 429 } <= 4, "\(statuses)")
        // Those that were closed without a response are counted too.
        let metrics = try #require(
            Client(server.adminPort()).ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        ).text
        let counts = ["connections", "share"].map { reason in
            let start = "imgcache_requests_refused_total{reason=\"\(reason)\"} "
            let line = metrics.split(separator: "\n").first { $0.hasPrefix(start) }
            return line.flatMap { Int($0.dropFirst(start.count)) } ?? 0
        }
        #expect(counts.reduce(0, +) == statuses.count { $0 != 200 }, "\(counts), \(statuses)")
    }

    @Test func `behind a trusted proxy each client has a share of its own`() async throws {
        let gate = Gate()
        let origin = try Self.gated(gate)
        let server = try await ServerProcess(
            origin: origin.url(""), "--max-requests", "4", "--queue-length", "4", "--trusted-proxies", "127.0.0.2")
        func ask(_ path: String, _ client: String, from source: String = "127.0.0.2") throws -> Client {
            let connection = try Client(server.port, from: source)
            connection.send("GET \(path) HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 6.6.6.6, \(client)\r\n\r\n")
            return connection
        }
        let running = try ask("/held1", "198.51.100.1")
        await origin.waits { $0.count == 1 }
        let waiting = try ask("/held2", "198.51.100.1")
        let refused = try ask("/held3", "198.51.100.1")
        // One of the two waits, the other has no place in the queue.
        #expect(await server.logs { $0.contains { $0["status"] as? Int == 429 } })
        #expect(try ask("/b", "198.51.100.2").answer()?.status == 200)
        #expect(try ask("/c", "198.51.100.1", from: "127.0.0.3").answer()?.status == 200, "nobody believes a stranger")
        gate.open()
        #expect(Set([running, waiting, refused].map { $0.answer()?.status }) == [200, 429])
        #expect(
            await server.logs { lines in
                lines.contains {
                    $0["target"] as? String == "/b" && $0["client"] as? String == "198.51.100.2"
                        && $0["peer"] as? String == "127.0.0.2"
                }
            })
    }

    @Test func `a request that cannot be read is not logged as one of the client before it`() async throws {
        let origin = try ScriptedOrigin(serving: Self.file)
        let server = try await ServerProcess(origin: origin.url(""), "--trusted-proxies", "127.0.0.2")
        for (second, status, client) in [
            ("GET /b HTTP/1.1\r\nHost : x\r\n\r\n", 400, "127.0.0.2"),
            (
                "POST /b HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 198.51.100.2\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\nx", 400, "198.51.100.2"
            ),
        ] {
            let connection = try Client(server.port, from: "127.0.0.2")
            #expect(connection.get("/a", "X-Forwarded-For: 198.51.100.1")?.status == 200)
            #expect(connection.ask(second)?.status == status)
            #expect(
                await server.logs { lines in
                    lines.contains { $0["status"] as? Int == status && $0["client"] as? String == client }
                }, "\(client)")
        }
        #expect(server.log.allSatisfy { $0["status"] as? Int == 200 || $0["client"] as? String != "198.51.100.1" })
    }

    @Test func `content that comes byte by byte is refused when it comes too slowly on the whole`() async throws {
        let origin = try ScriptedOrigin(serving: Self.file)
        let server = try await ServerProcess(
            origin: origin.url(""), "--body-timeout", "300ms", "--min-request-rate", "1000")
        let client = try Client(server.port)
        client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
        await eventually {
            client.send([1])
            // Slower than the least rate.
            try? await Task.sleep(for: .milliseconds(50))
            return server.log.contains { $0["status"] as? Int == 408 }
        }
        #expect(client.answer()?.status == 408)
        #expect(origin.requests.isEmpty)
    }

    @Test func `a client that takes its answer too slowly is cut off`() async throws {
        let file = Representation(seed: 8, size: 8_000_000)
        let origin = try ScriptedOrigin(serving: file, sendBuffer: nil)
        let server = try await ServerProcess(
            origin: origin.url(""), "--write-timeout", "500ms", "--min-response-rate", "100MB")
        let client = try Client(server.port, receiveBuffer: 4096)
        client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(await server.logs { $0.contains { $0["cut_short"] as? Bool == true } })
        #expect(try Client(server.port).get("/a")?.body.count == 8_000_000)
    }
}

extension ServerProcess {
    /// Returns true if a client at that address is served in time.
    fileprivate func answers(from source: String) async -> Bool {
        await eventually { (try? Client(port, from: source))?.get("/a")?.status == 200 }
    }
}
