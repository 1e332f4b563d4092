import TestSupport
import Testing

/// RFC 9110 section 7.6: what a proxy passes on, and what it does not.
@Suite(.fewAtATime) struct HopTests {
    private static func origin(fields: [(name: String, value: String)] = []) throws -> ScriptedOrigin {
        try ScriptedOrigin { _ in
            var behaviour = Behaviour(Representation(seed: 1, size: 100))
            behaviour.fields = fields
            return behaviour
        }
    }

    @Test func `fields for one connection, and those that Connection names, do not reach the origin`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let answer = try Client(server.port).get(
            "/a?b=%20|c", "Connection: keep-alive, X-Mine", "X-Mine: secret", "Keep-Alive: timeout=5", "TE: trailers",
            "Upgrade: websocket", "Proxy-Authorization: Basic YTpi", "Proxy-Connection: close", "Trailer: X",
            "X-Yours: kept", "Accept: image/webp", "Via: 1.0 before",
            "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate: a=b",
            "X-Request-Id: abc-123", "User-Agent: tester")
        #expect(answer?.status == 200)
        let received = try #require(origin.requests.first?.request)
        #expect(received.target == "/a?b=%20|c")
        #expect(received["Host"] == "127.0.0.1:\(origin.port)")
        for name in [
            "X-Mine", "Keep-Alive", "TE", "Upgrade", "Proxy-Authorization", "Proxy-Connection", "Trailer", "Connection",
            "Forwarded",
        ] {
            #expect(received[name] == nil, "\(name)")
        }
        #expect(received["X-Yours"] == "kept")
        #expect(received["Accept"] == "image/webp")
        #expect(received["User-Agent"] == "tester")
        #expect(received["Via"] == "1.0 before, 1.1 imgcache")
        #expect(received["traceparent"] == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        #expect(received["tracestate"] == "a=b")
        #expect(received["X-Request-Id"] == "abc-123")
        #expect(answer?["X-Request-Id"] == "abc-123")
    }

    @Test
    func `an interim response reaches the client before the final one, except over HTTP/1.0`()
        async throws
    {
        let origin = try ScriptedOrigin(script: { request in
            [.raw("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\nConnection: X-Mine\r\nX-Mine: 1\r\n\r\n")]
                + Behaviour(Representation(seed: 1, size: 100)).script(for: request)
        })
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let hint = try #require(client.get("/a"))
        #expect(hint.status == 103)
        #expect(hint["Link"] == "</style.css>")
        #expect(hint["X-Mine"] == nil)
        #expect(client.answer()?.status == 200)
        let old = try Client(server.port)
        #expect(old.ask("GET /b HTTP/1.0\r\nHost: x\r\n\r\n")?.status == 200)
    }

    @Test
    func `fields for the origin's connection, and those that its Connection names, do not reach the client`()
        async throws
    {
        let origin = try Self.origin(fields: [
            ("Connection", "X-Mine"), ("X-Mine", "secret"), ("Keep-Alive", "timeout=5"), ("X-Yours", "kept"),
            ("Proxy-Authenticate", "Basic"), ("Upgrade", "h2c"), ("Via", "1.0 before"),
        ])
        let server = try await ServerProcess(origin: origin.url(""), "--via-name", "edge")
        for _ in 0..<2 {
            let answer = try #require(try Client(server.port).get("/a"))
            for name in ["X-Mine", "Keep-Alive", "Proxy-Authenticate", "Upgrade", "Connection"] {
                #expect(answer[name] == nil, "\(name)")
            }
            #expect(answer["X-Yours"] == "kept")
            #expect(answer["Via"] == "1.0 before, 1.1 edge")
            #expect(answer.all("Content-Length") == ["100"])
        }
    }

    @Test func `Forwarded and Server-Timing are sent if they are enabled`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(
            origin: origin.url(""), "--forwarded", "--server-timing", "--request-id-header", "off")
        let answer = try Client(server.port).ask(
            "GET /a HTTP/1.1\r\nHost: me.example\r\nForwarded: for=192.0.2.1\r\n\r\n")
        #expect(answer?["Server-Timing"]?.hasPrefix("cache;desc=\"miss\";dur=") == true)
        #expect(answer?["X-Request-Id"] == nil)
        // The information of an untrusted client is discarded.
        #expect(origin.requests.first?["Forwarded"] == "for=127.0.0.1;host=\"me.example\";proto=http")
        #expect(origin.requests.first?["X-Request-Id"] == nil)
    }

    @Test func `a client's request id is used if it is short and plain, and replaced otherwise`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let made = client.get("/a", "X-Request-Id: \"quoted\"")?["X-Request-Id"]
        #expect(made?.count == 16 && made?.allSatisfy { $0.isHexDigit } == true)
        #expect(client.get("/a")?["X-Request-Id"] != made)
    }

    @Test(arguments: ["max-age=600", "no-store"])
    func `a response has one id, of its request, whatever the origin and the rules say`(cacheControl: String)
        async throws
    {
        let origin = try Self.origin(fields: [("Cache-Control", cacheControl), ("X-Trace", "the origin's")])
        let server = try await ServerProcess(
            origin: origin.url(""), "--request-id-header", "x-trace", "--set-response-fields", "X-TRACE:a rule's")
        let client = try Client(server.port)
        for id in ["one", "two", "three"] { #expect(client.get("/a", "X-Trace: \(id)")?.all("X-Trace") == [id]) }
    }

    @Test func `a request that loops through the server is refused`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let via = (0..<5).map { _ in "1.1 imgcache" }.joined(separator: ", ")
        #expect(try Client(server.port).get("/a", "Via: \(via)")?.status == 508)
        #expect(origin.requests.isEmpty)
    }

    @Test
    func
        `content is passed on with its method, and 100 (Continue) is sent if the client waits for it`()
        async throws
    {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        client.send("PUT /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        #expect(client.answer()?.statusLine == "HTTP/1.1 100 Continue")
        client.send("hello")
        #expect(client.answer()?.status == 200)
        #expect(
            client.ask("PATCH /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")?
                .status
                == 200)
        #expect(client.ask("DELETE /c HTTP/1.1\r\nHost: x\r\n\r\n")?.status == 200)
        #expect(client.ask("OPTIONS /d HTTP/1.1\r\nHost: x\r\nMax-Forwards: 3\r\n\r\n")?.status == 200)
        #expect(origin.requests.map(\.request.method) == ["PUT", "PATCH", "DELETE", "OPTIONS"])
        #expect(
            origin.requests.map { String(decoding: $0.request.body, as: UTF8.self) } == ["hello", "hello", "", ""])
        #expect(origin.requests.allSatisfy { $0["Expect"] == nil && $0["Transfer-Encoding"] == nil })
        #expect(origin.requests.last?["Max-Forwards"] == "2")
    }

    @Test
    func `the origin is asked for the target in the cache key, and never outside its own path`()
        async throws
    {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url("/base"))
        let client = try Client(server.port)
        for (asked, received) in [
            ("/%7Ea%2f%c3%A9?x=%41&y=%2F", "/base/~a%2F%C3%A9?x=A&y=%2F"), ("/...", "/base/..."), ("//a", "/base//a"),
        ] {
            #expect(client.get(asked)?.status == 200)
            #expect(origin.requests.last?.request.target == received)
        }
        let asked = origin.requests.count
        for path in ["/../secret", "/a/./b", "/n/%2e%2e/pb", "/.%2E", "/%2e/a?b"] {
            #expect(client.get(path)?.status == 400, "\(path)")
        }
        #expect(origin.requests.count == asked)
    }

    @Test
    func `an interim response without a final one is a 502, and nothing after it is passed on`()
        async throws
    {
        let origin = try ScriptedOrigin { request in
            request.path == "/a"
                ? [
                    .raw(
                        "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nEVIL!")
                ]
                : Behaviour(Representation(seed: 1, size: 100)).script(for: request)
        }
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        #expect(client.get("/a")?.status == 502)
        #expect(client.get("/b")?.body.count == 100)
    }

    @Test func `Via names this server after all earlier ones`() async throws {
        let origin = try Self.origin(fields: [("Via", "1.1 one"), ("Via", "1.1 two")])
        let server = try await ServerProcess(origin: origin.url(""))
        #expect(try Client(server.port).get("/a")?.all("Via") == ["1.1 one", "1.1 two, 1.1 imgcache"])
    }
}
