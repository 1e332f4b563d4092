import TestSupport
import Testing

@Suite(.fewAtATime) struct QueueTests {
    @Test
    func
        `when the queue is full, new requests get 503 with Retry-After, and queued ones are answered`()
        async throws
    {
        let gate = Gate()
        let origin = try ScriptedOrigin { _ in
            var behaviour = Behaviour(Representation(seed: 1, size: 1000))
            behaviour.gate = gate
            return behaviour
        }
        let server = try await ServerProcess(
            origin: origin.url(""), "--max-requests", "1", "--queue-length", "1", "--retry-after", "7")
        let running = try Client(server.port)
        running.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(await origin.waits { $0.count == 1 })
        // One of these two waits, the other finds the queue full.
        let others = [try Client(server.port), try Client(server.port)]
        for (number, client) in others.enumerated() { client.send("GET /\(number + 2) HTTP/1.1\r\nHost: x\r\n\r\n") }
        #expect(await server.logs { $0.contains { $0["status"] as? Int == 503 } })
        gate.open()
        #expect(running.answer()?.status == 200)
        let answers = others.map { $0.answer() }
        #expect(Set(answers.map { $0?.status }) == [200, 503])
        let refused = answers.first { $0?.status == 503 } ?? nil
        #expect(refused?["Retry-After"] == "7")
        #expect(refused?.text.contains("\"error\":\"busy\"") == true)
        #expect(origin.requests.count == 2)
    }

    @Test func `a client that leaves while it waits in the queue makes room in it`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { _ in
            var behaviour = Behaviour(Representation(seed: 1, size: 1000))
            behaviour.gate = gate
            return behaviour
        }
        let server = try await ServerProcess(origin: origin.url(""), "--max-requests", "1", "--queue-length", "1")
        let running = try Client(server.port)
        running.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(await origin.waits { $0.count == 1 })
        do {
            let leaving = try Client(server.port)
            leaving.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n")
        }
        #expect(await server.logs { $0.contains { $0["target"] as? String == "/2" } })
        let next = try Client(server.port)
        next.send("GET /3 HTTP/1.1\r\nHost: x\r\n\r\n")
        gate.open()
        #expect(running.answer()?.status == 200)
        #expect(next.answer()?.status == 200)
        #expect(origin.requests.map(\.request.path) == ["/1", "/3"])
    }
}
