import TestSupport
import Testing

@Suite(.fewAtATime(limit: .seconds(120))) struct ConnectionTests {
    private static let file = Representation(seed: 7, size: 20_000)

    @Test func `pipelined requests are answered in their order, however long the first one takes`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { request in
            var behaviour = Behaviour(
                Representation(seed: request.path == "/slow" ? 1 : 2, size: request.path == "/slow" ? 1000 : 2000))
            if request.path == "/slow" { behaviour.gate = gate }
            return behaviour
        }
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        client.send(
            ["/slow", "/quick", "/slow?2", "/quick"].map { "GET \($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined())
        await origin.waits { $0.count == 1 }
        gate.open()
        #expect((0..<4).map { _ in client.answer()?.body.count } == [1000, 2000, 1000, 2000])
    }

    @Test func `a thousand pipelined requests are all answered`() async throws {
        let origin = try ScriptedOrigin(serving: Self.file)
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let first = try #require(client.get("/a"))
        client.send(String(repeating: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", count: 1000))
        var right = 0
        for _ in 0..<1000 where client.answer()?.body == first.body { right += 1 }
        #expect(right == 1000)
        #expect(origin.requests.count == 1)
    }

    @Test func `a connection stays open or closes according to its HTTP version and Connection field`() async throws {
        let origin = try ScriptedOrigin(serving: Self.file)
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        #expect(client.get("/a")?["Connection"] == nil)
        #expect(client.ask("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")?["Connection"] == "keep-alive")
        let last = client.get("/a", "Connection: close")
        #expect(last?["Connection"] == "close")
        #expect(last?.body.count == 20_000)
        #expect(client.isEnded)

        let old = try Client(server.port)
        let answer = old.ask("GET /a HTTP/1.0\r\n\r\n")
        #expect(answer?.statusLine == "HTTP/1.1 200 OK")
        #expect(answer?["Content-Length"] == "20000")
        #expect(answer?["Connection"] == "close")
        #expect(old.isEnded)
    }

    @Test
    func `a client that half-closes after its request still gets the whole response from memory`() async throws {
        let file = Representation(seed: 9, size: 250_000)
        let origin = try ScriptedOrigin(serving: file)
        let server = try await ServerProcess(origin: origin.url(""))
        var answer: Client.Response?
        // Memory answers for a second after the store was looked at: on a machine that is too slow for that, once more.
        for _ in 0..<20 where answer == nil {
            let warming = try Client(server.port)
            for _ in 0..<3 { #expect(warming.get("/a")?.status == 200) }
            let client = try Client(server.port)
            client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            client.finish()
            answer = client.answer()
            #expect(client.isEnded)
        }
        #expect(answer?.body == file.content.bytes())
    }

    @Test func `HEAD gets the head alone`() async throws {
        let origin = try ScriptedOrigin(serving: Self.file)
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        for _ in 0..<2 {
            let answer = client.ask("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(answer?.status == 200)
            #expect(answer?["Content-Length"] == "20000")
        }
        // The following bytes are read as the next response: there was no content in between.
        #expect(client.get("/a")?.body.count == 20_000)
    }

    @Test
    func `absolute-form must name this service, OPTIONS is answered here, and TRACE and CONNECT are refused`()
        async throws
    {
        let origin = try ScriptedOrigin(serving: Self.file)
        let server = try await ServerProcess(origin: origin.url(""), "--public-hosts", "own.example,*.cdn.example:8443")
        let client = try Client(server.port)
        let own = "127.0.0.1:\(server.port)"
        let foreign = [
            "elsewhere.example", "127.0.0.1", "127.0.0.1:\(origin.port)", "cdn.example:8443", "a.own.example",
        ]
        for host in foreign {
            // Whatever Host says: the target decides.
            for field in [host, own, "own.example"] {
                let asked = "GET http://\(host)/a?b HTTP/1.1\r\nHost: \(field)\r\n\r\n"
                let answer = try #require(client.ask(asked))
                #expect(answer.status == 421 && answer.text.contains("misdirected"), "\(host): \(answer.text)")
            }
            let image = client.ask("GET http://\(host)/image/w=9/a HTTP/1.1\r\nHost: \(own)\r\n\r\n")
            #expect(image?.status == 421, "\(host)")
            let options = client.ask("OPTIONS http://\(host) HTTP/1.1\r\nHost: \(own)\r\n\r\n")
            #expect(options?.status == 421, "\(host)")
        }
        #expect(origin.requests.isEmpty)
        let urls = [own, "localhost:\(server.port)", "own.example"].map { "http://" + $0 }
        for url in urls + ["https://b.cdn.example:8443"] {
            #expect(client.ask("GET \(url)/a?b HTTP/1.1\r\nHost: x\r\n\r\n")?.status == 200, "\(url)")
        }
        // A path is for this service whatever its Host.
        #expect(client.ask("GET /a?b HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n")?.status == 200)
        #expect(origin.requests.map(\.request.target) == ["/a?b"])
        #expect(origin.requests.first?["Host"] == "127.0.0.1:\(origin.port)")
        let options = client.ask("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(options?.status == 204)
        #expect(options?["Allow"]?.contains("GET") == true)
        let trace = client.ask("TRACE / HTTP/1.1\r\nHost: x\r\nCookie: a=b\r\n\r\n")
        #expect(trace?.status == 405)
        #expect(trace?["Allow"]?.contains("TRACE") == false)
        #expect(client.ask("OPTIONS /a HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\n\r\n")?.status == 204)
        #expect(client.ask("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n")?.status == 501)
        #expect(origin.requests.count == 1)
    }

    @Test func `a request that exceeds a limit is refused with the status for that limit`() async throws {
        let origin = try ScriptedOrigin(serving: Self.file)
        let server = try await ServerProcess(
            origin: origin.url(""), "--max-url-length", "200", "--max-header-size", "1KiB", "--max-header-fields", "8",
            "--max-request-body", "100")
        func status(_ request: String) throws -> Int? { try Client(server.port).ask(request)?.status }
        let long = String(repeating: "a", count: 2000)
        #expect(try status("GET /\(long) HTTP/1.1\r\nHost: x\r\n\r\n") == 414)
        #expect(try status("GET / HTTP/1.1\r\nHost: x\r\nA: \(long)\r\n\r\n") == 431)
        let many = String(repeating: "A: b\r\n", count: 9)
        #expect(try status("GET / HTTP/1.1\r\nHost: x\r\n\(many)\r\n") == 431)
        #expect(try status("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n") == 413)
        #expect(
            try status("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n") == 413)
        #expect(origin.requests.isEmpty)
    }

    @Test
    func `a request is refused while held contents fill the limit, and accepted afterwards`()
        async throws
    {
        let gate = Gate()
        let origin = try ScriptedOrigin { _ in
            var behaviour = Behaviour(Self.file)
            behaviour.gate = gate
            return behaviour
        }
        let server = try await ServerProcess(origin: origin.url(""), "--max-request-bodies", "10")
        let holding = try Client(server.port)
        holding.send("PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n12345678")
        #expect(await origin.waits { $0.count == 1 })
        let refused = try Client(server.port).ask("PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12345")
        #expect(refused?.status == 503)
        #expect(refused?.text.contains("\"error\":\"busy\"") == true)
        gate.open()
        #expect(holding.answer()?.status == 200)
        // The client may have the answer before the server has put the content away.
        var again: Client.Response?
        for _ in 0..<1000 where again?.status != 200 {
            again = try Client(server.port).ask(
                "PUT /c HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n1234567890")
        }
        #expect(again?.status == 200)
    }

    @Test
    func `a late head or content is answered with 408, and an idle connection is closed silently`()
        async throws
    {
        let origin = try ScriptedOrigin(serving: Self.file)
        // A server for each, so that on a busy machine one time-out is not met where another is meant.
        let heads = try await ServerProcess(origin: origin.url(""), "--header-timeout", "200ms")
        let head = try Client(heads.port)
        #expect(head.ask("GET / HTTP/1.1\r\nHo")?.status == 408)
        #expect(head.isEnded)
        let bodies = try await ServerProcess(origin: origin.url(""), "--body-timeout", "200ms")
        let content = try Client(bodies.port)
        #expect(content.ask("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")?.status == 408)
        #expect(content.isEnded)
        let server = try await ServerProcess(origin: origin.url(""), "--idle-timeout", "500ms")
        let silent = try Client(server.port)
        #expect(silent.isEnded)
        // One that is late with its request is idle before it asks.
        var idle = try Client(server.port)
        for _ in 0..<20 where idle.get("/a")?.status != 200 { idle = try Client(server.port) }
        #expect(idle.isEnded)
    }

    @Test func `a pause of the origin does not count against the client that waits for it`() async throws {
        let content = Content(seed: 4, size: 2_000_000)
        let origin = try ScriptedOrigin { _ in
            [
                .head(status: 200, fields: [("Content-Length", "2000000"), ("ETag", "\"v4\"")]),
                .content(content, 0..<1_000_000), .pause(milliseconds: 3000), .content(content, 1_000_000..<2_000_000),
            ]
        }
        let server = try await ServerProcess(origin: origin.url(""), "--write-timeout", "1s")
        #expect(try Client(server.port).get("/a")?.body == content.bytes())
    }

    @Test func `a client that does not read is disconnected and does not block other clients`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 3, size: 32 << 20), sendBuffer: nil)
        let server = try await ServerProcess(origin: origin.url(""), "--write-timeout", "3s")
        let slow = try Client(server.port)
        slow.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try Client(server.port).get("/a")?.body.count == 32 << 20)
        #expect(await server.logs { $0.contains { $0["cut_short"] as? Bool == true } })
    }
}
