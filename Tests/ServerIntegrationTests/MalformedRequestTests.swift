import TestSupport
import Testing

@Suite(.fewAtATime) struct MalformedRequestTests {
    @Test
    func `an ambiguous or malformed request is refused and ends the connection`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 100))
        let server = try await ServerProcess(origin: origin.url(""))
        for request in MalformedRequest.all {
            let client = try Client(server.port)
            client.send(request.bytes)
            let isHead = request.bytes.hasPrefix("HEAD ")
            let answer = try #require(client.answer(toHead: isHead), "\(request)")
            #expect(answer.status == request.status, "\(request): \(answer.statusLine)")
            #expect(answer["Connection"] == "close", "\(request)")
            #expect(answer["Content-Type"] == "application/json", "\(request)")
            // Nothing follows the head of a response to HEAD.
            if !isHead { #expect(answer.text.hasPrefix("{\"error\":\""), "\(request): \(answer.text)") }
            #expect(client.isEnded, "\(request)")
        }
        #expect(origin.requests.isEmpty)
    }

    @Test
    func `a malformed request after a good one ends the connection, and nothing after it is read`()
        async throws
    {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 100))
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        client.send(
            "GET /good HTTP/1.1\r\nHost: x\r\n\r\n"
                + "POST /bad HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(client.answer()?.status == 200)
        #expect(client.answer()?.status == 400)
        #expect(client.isEnded)
        #expect(origin.requests.map(\.request.path) == ["/good"])
    }

    @Test func `a head that arrives byte by byte is read, or refused if it is malformed`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 100))
        let server = try await ServerProcess(origin: origin.url(""))
        let good = try Client(server.port)
        for byte in "GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8 { good.send([byte]) }
        #expect(good.answer()?.status == 200)
        let bad = try Client(server.port)
        for byte in "GET / HTTP/1.1\r\nHost : x\r\n\r\n".utf8 { bad.send([byte]) }
        #expect(bad.answer()?.status == 400)
    }
}
