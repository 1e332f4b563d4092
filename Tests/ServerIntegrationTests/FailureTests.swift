import TestSupport
import Testing

@Suite(.fewAtATime) struct FailureTests {
    @Test
    func
        `an unreachable origin is a 502 and a silent one a 504, in JSON without addresses`()
        async throws
    {
        let silent = try ScriptedOrigin { _ in [.stall] }
        let unreachable = try ScriptedOrigin { _ in [] }
        unreachable.stop()
        for (url, patience, status, code) in [
            (unreachable.url(""), "10min", 502, "origin-unreachable"), (silent.url(""), "300ms", 504, "origin-timeout"),
        ] {
            let server = try await ServerProcess(origin: url, "--origin-timeout", patience)
            let answer = try #require(try Client(server.port).get("/a"))
            #expect(answer.status == status)
            #expect(answer["Content-Type"] == "application/json")
            #expect(answer["Cache-Control"] == "no-store")
            #expect(answer.text.contains("\"error\":\"\(code)\""), "\(answer.text)")
            #expect(!answer.text.contains("127.0.0.1"))
            #expect(await server.logs { $0.contains { $0["error"] as? String == code } })
        }
    }

    @Test func `an origin's error is passed on with its status, its fields and its content`() async throws {
        let origin = try ScriptedOrigin { request in
            [
                .head(
                    status: request.path == "/gone" ? 410 : 500,
                    fields: [("Content-Type", "text/html"), ("Content-Length", "5"), ("X-Why", "because")]),
                .body(Array("sorry".utf8)),
            ]
        }
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        for (path, status) in [("/gone", 410), ("/broken", 500)] {
            let answer = client.get(path)
            #expect(answer?.status == status)
            #expect(answer?.text == "sorry")
            #expect(answer?["X-Why"] == "because")
            #expect(answer?["Content-Type"] == "text/html")
        }
    }

    @Test func `a client that leaves does not end the transfer for other clients`() async throws {
        let gate = Gate()
        let file = Representation(seed: 5, size: 3_000_000)
        let origin = try ScriptedOrigin { _ in
            var behaviour = Behaviour(file)
            behaviour.bodyGate = (1_000_000, gate)
            return behaviour
        }
        let server = try await ServerProcess(origin: origin.url(""))
        let staying = try Client(server.port)
        do {
            let leaving = try Client(server.port)
            leaving.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await origin.waits { $0.count == 1 })
            staying.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(staying.receive(atLeast: 100_000))
        }
        #expect(await server.logs { $0.contains { $0["cut_short"] as? Bool == true } })
        gate.open()
        #expect(staying.answer()?.body == file.content.bytes(0..<file.size))
        #expect(origin.requests.count == 1)
    }

    @Test
    func
        `after the last client leaves, the transfer stops, and the next client's request resumes it`()
        async throws
    {
        let gate = Gate()
        let file = Representation(seed: 6, size: 9_000_000)
        let origin = try ScriptedOrigin { request in
            var behaviour = Behaviour(file)
            if request.number == 1 { behaviour.bodyGate = (6_000_000, gate) }
            return behaviour
        }
        let server = try await ServerProcess(origin: origin.url(""))
        do {
            let leaving = try Client(server.port)
            leaving.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await origin.waits { ($0.first?.bodyBytesSent ?? 0) >= 5_900_000 })
        }
        #expect(await origin.waits { $0.first?.ending == .peerGone })
        let next = try Client(server.port).get("/a")
        #expect(next?.body == file.content.bytes(0..<file.size))
        #expect(origin.requests.last?["Range"]?.hasPrefix("bytes=") == true)
    }
}
