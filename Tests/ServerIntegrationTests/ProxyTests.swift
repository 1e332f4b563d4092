import TestSupport
import Testing

@Suite(.fewAtATime) struct ProxyTests {
    @Test func `a file comes from the origin once, and then from the store`() async throws {
        let file = Representation(seed: 1, size: 300_000)
        let origin = try ScriptedOrigin(serving: file)
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let first = try #require(client.get("/picture"))
        let second = try #require(client.get("/picture"))
        #expect(first.status == 200 && second.status == 200)
        #expect(first.body == file.content.bytes(0..<300_000))
        #expect(second.body == first.body)
        #expect(first["Via"] == "1.1 imgcache")
        #expect(second["Cache-Status"]?.hasPrefix("imgcache; hit") == true)
        #expect(origin.requests.count == 1)
    }

    @Test func `bytes that are not text, an empty query and chunks are passed on unchanged`() async throws {
        let value: [UInt8] = [0xFF, 0xE9, 0x61]
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\nX-Bytes: ".utf8)
        let chunks = Array("\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n".utf8)
        let origin = try ScriptedOrigin(script: { _ in [.body(head + value + chunks)] })
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        client.send(Array("GET /p? HTTP/1.1\r\nHost: x\r\nX-Bytes: ".utf8) + value + [13, 10, 13, 10])
        let answer = try #require(client.answer())
        #expect(answer.body == Array("abc".utf8))
        #expect(answer["Content-Length"] == nil)
        #expect(answer["X-Bytes"] == String(decoding: value, as: UTF8.self))
        client.send(Array("GET /n HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8))
        let line = Array("X-Bytes: ".utf8) + value + [13, 10]
        #expect(Self.contains(line, client.rest()))
        let sent = try #require(origin.requests.first).request
        #expect(sent.target == "/p?")
        #expect(Self.contains(line, sent.head))
        #expect(
            sent.fields.map { $0.name.lowercased() }.sorted() == [
                "accept-encoding", "host", "via", "x-bytes", "x-request-id",
            ])
    }

    private static func contains(_ part: [UInt8], _ bytes: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: part) }
    }

    @Test(arguments: [false, true]) func `PURGE of a client reaches the origin only where that is allowed`(
        isAllowed: Bool
    ) async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 3, size: 1000))
        let server = try await ServerProcess(
            origin: origin.url(""), environment: ["IMGCACHE_FORWARD_PURGE": String(isAllowed)])
        let client = try Client(server.port)
        #expect(client.get("/a")?.status == 200)
        let answer = try #require(client.ask("PURGE /a HTTP/1.1\r\nHost: x\r\n\r\n"))
        #expect((answer.status == 405) == !isAllowed, "\(answer.status)")
        #expect(origin.requests.map(\.request.method) == (isAllowed ? ["GET", "PURGE"] : ["GET"]))
        if !isAllowed { #expect(client.get("/a")?["Cache-Status"]?.hasPrefix("imgcache; hit") == true) }
    }

    @Test func `the command starts the server that is next to it`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 2, size: 1000))
        let server = try await ServerProcess(
            origin: origin.url(""), executable: CommandRunner.built("imgcache"), leading: ["serve"])
        #expect(try Client(server.port).get("/a")?.status == 200)
        server.process.send(signal: 15)
        #expect(await server.process.end() == .exited(0))
    }
}
