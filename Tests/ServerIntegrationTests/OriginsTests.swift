import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing
import URLSigning

/// A service with several origins, each of which says who it is.
@Suite(.fewAtATime) struct OriginsTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    /// An origin whose bodies are its name and the path; paths that end in a number and a hyphen before it are pictures.
    private func origin(
        _ name: String, cacheControl: String = "max-age=600", status: @escaping @Sendable () -> Int = { 200 }
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            let body =
                request.path.hasPrefix("/pictures/")
                ? NumberedPictures.picture(request.path) : Array("\(name) \(request.target)".utf8)
            let fields = [
                ("Cache-Control", cacheControl), ("Content-Length", "\(body.count)"), ("ETag", "\"\(name)\""),
                ("Date", httpDate(Date())),
            ]
            return [.head(status: status(), fields: fields), .body(body)]
        }
    }

    private func server(_ settings: String) async throws -> ServerProcess {
        let file = try directory.write(settings, to: "server.json")
        return try await ServerProcess(
            origin: nil, "--config", file, "--admin", "127.0.0.1:0", environment: ["IMGCACHE_ADMIN_TOKEN": "token"],
            directory: directory)
    }

    private func get(
        _ server: ServerProcess, _ path: String, host: String = "x", _ fields: String...
    ) throws -> Client.Response {
        let lines = ["Host: \(host)"] + fields
        return try #require(
            try Client(server.port).ask("GET \(path) HTTP/1.1\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"))
    }

    @Test func `two origins by prefix have the same paths and share nothing`() async throws {
        let (a, b) = (try origin("a"), try origin("b"))
        let server = try await server(
            """
            {"origins": {
              "shop": {"match": "/shop/", "url": "\(a.url("/assets"))"},
              "sale": {"match": ["/shop/sale/"], "url": "\(b.url(""))"}
            }}
            """)
        for _ in 0..<2 {
            #expect(try get(server, "/shop/x?y=1").text == "a /assets/x?y=1")
            #expect(try get(server, "/shop/sale/x?y=1").text == "b /x?y=1")
            #expect(try get(server, "/sh%6fp/sale/x?y=1").text == "b /x?y=1")
            #expect(try get(server, "/shop/sales").text == "a /assets/sales")
        }
        #expect(a.requests.count == 2 && b.requests.count == 1)
        for path in ["/", "/shop", "/shopping/x", "/image/w=9/other/x.jpg", "/image/w=9", "/image/w=9/shop"] {
            let answer = try get(server, path)
            #expect(answer.status == 404 && answer.text.contains("no-origin"), "\(path): \(answer.text)")
        }
        for path in ["/shop/../x", "/shop/%2e%2e/x", "/shop/..%2fx", "/shop/..;/x", "/shop/%252e%252e/x"] {
            for path in [path, "/image/w=9\(path)"] {
                #expect([400, 404].contains(try get(server, path).status), "\(path)")
            }
        }
        #expect(a.requests.count == 2 && b.requests.count == 1)
    }

    @Test func `a host selects its origin, whose patterns share stored files, and other hosts get the default`()
        async throws
    {
        let (a, b) = (try origin("a"), try origin("b"))
        let server = try await server(
            """
            {"origin": "\(b.url("/rest"))",
             "origins": {"photos": {"match": ["photos.example", "*.photos.example/raw/", "/photos/"], "url": "\(a.url(""))"}}}
            """)
        for (path, host) in [
            ("/x", "photos.example"), ("/x", "PHOTOS.example:8080"), ("/x", "photos.example."), ("/photos/x", "y"),
            ("/raw/x", "a.photos.example"),
        ] {
            #expect(try get(server, path, host: host).text == "a /x", "\(host)\(path)")
        }
        #expect(a.requests.count == 1)
        #expect(try get(server, "/photos/x", host: "photos.example").text == "a /photos/x")
        #expect(try get(server, "/x", host: "a.photos.example").text == "b /rest/x")
        #expect(try get(server, "/x", host: "elsewhere.example").text == "b /rest/x")
        // Responses that are sent again without asking the handler depend on Host, too.
        let client = try Client(server.port)
        for _ in 0..<50 {
            for (host, body) in [("photos.example", "a /x"), ("y", "b /rest/x")] {
                #expect(client.ask("GET /x HTTP/1.1\r\nHost: \(host)\r\n\r\n")?.text == body)
            }
        }
    }

    @Test func `an image is made of the origin of its path, with that origin's presets, keys and hosts`() async throws {
        let (a, b, cdn) = (try origin("a"), try origin("b"), try origin("cdn"))
        let keys = try directory.write("one:AAECAwQFBgcICQoLDA0ODw==\n", to: "keys")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keys)
        let server = try await server(
            """
            {"presets": {"icon": "w=16"}, "default-options": "f=png",
             "origins": {
               "shop": {"match": "/shop/", "url": "\(a.url("/pictures"))", "presets": {"card": "w=40"}, "only-presets": true,
                        "default-options": "f=webp", "allow-hosts": ["localhost:\(b.port)", "127.0.0.1:\(cdn.port)"]},
               "raw": {"match": "/raw/", "url": "\(b.url(""))", "signing-key-files": ["\(keys)"]}
            }}
            """)
        let card = try get(server, "/image/card/shop/a-1")
        #expect(card.status == 200 && card["Content-Type"] == "image/webp", "\(card.text)")
        #expect(card["Link"] == "</shop/a-1>; rel=\"canonical\"")
        #expect(a.requests.map(\.request.target) == ["/pictures/a-1"])
        for target in ["icon/shop/a-1", "w=40/shop/a-1", "card,q=5/shop/a-1"] {
            #expect(try get(server, "/image/\(target)").status == 400, "\(target)")
        }
        #expect(try get(server, "/image/info/shop/a-1").text.contains("\"width\":200"))
        // The hosts of other originals are those that the origin of the prefix allows. A loopback address is not public.
        let other = try get(server, "/image/card/shop/http://localhost:\(b.port)/pictures/a-2")
        #expect(other.status == 403 && other.text.contains("address-refused"), "\(other.text)")
        // The other origin itself is allowed only by its own name.
        #expect(try get(server, "/image/card/shop/http://127.0.0.1:\(b.port)/pictures/a-2").status == 403)
        #expect(try get(server, "/image/card/shop/http://127.0.0.1:\(cdn.port)/pictures/a-2").status == 403)
        #expect(cdn.connections == 0 && b.connections == 0)

        let signer = URLSigner(try SigningKeys(text: "one:AAECAwQFBgcICQoLDA0ODw==\n"))
        let signed = try signer.sign(target: "/image/icon/raw/pictures/a-3")
        let icon = try get(server, signed)
        #expect(icon.status == 200 && icon["Content-Type"] == "image/png", "\(icon.text)")
        #expect(try get(server, "/image/icon/raw/pictures/a-3").status == 403)
        #expect(try get(server, signed.replacing("/raw/", with: "/shop/")).status == 400)
    }

    @Test func `fields set for an origin replace the client's and never reach another origin`()
        async throws
    {
        let stranger = try origin("stranger")
        let target = stranger.localhostURL("/pictures/a-1")
        let a = try ScriptedOrigin { request in
            if request.path == "/away-1" {
                return [.head(status: 302, fields: [("Location", target), ("Content-Length", "0")])]
            }
            let body = Array("key \(request["X-Key"] ?? "-"), cookie \(request["Cookie"] ?? "-")".utf8)
            let fields = [("Cache-Control", "max-age=600"), ("Content-Length", "\(body.count)")]
            return [.head(status: 200, fields: fields), .body(body)]
        }
        let server = try await server(
            """
            {"origins": {
              "one": {"match": "/one/", "url": "\(a.url(""))", "set-fields": {"X-Key": "1", "Authorization": "Bearer 1"},
                      "drop-fields": ["Cookie"], "allow-hosts": ["localhost:\(stranger.port)"]},
              "two": {"match": "/two/", "url": "\(a.url(""))", "set-fields": {"X-Key": "2"}},
              "none": {"match": "/none/", "url": "\(a.url(""))"}
            }}
            """)
        for _ in 0..<2 {
            #expect(try get(server, "/one/x", "X-Key: client", "Cookie: c").text == "key 1, cookie -")
            #expect(try get(server, "/two/x", "X-Key: client", "Cookie: c").text == "key 2, cookie c")
            #expect(try get(server, "/none/x").text == "key -, cookie -")
        }
        #expect(a.requests.count == 3, "each is stored, for itself")
        #expect(a.requests.first?["Authorization"] == "Bearer 1")
        // A redirect to a loopback address is refused, and nothing is sent to it.
        #expect(try get(server, "/image/w=9/one/away-1").status == 403)
        #expect(stranger.requests.isEmpty)
        let shown = await CommandRunner.outcome(
            of: try ChildProcess(
                ServerProcess.executable, ["--print-config", "--config", directory.path("server.json")],
                environment: ["HOME": directory.path, "PATH": "/usr/bin:/bin"]))
        #expect(shown.output.contains("\"one\"") && !shown.output.contains("Bearer"), "\(shown)")
    }

    @Test func `fields of responses are changed for clients, in hits and errors too, and not in the store`()
        async throws
    {
        let picture = NumberedPictures.picture("/pictures/a-1")
        let a = try ScriptedOrigin { request in
            let fields = [("Cache-Control", "max-age=600"), ("ETag", "\"1\""), ("X-Powered-By", "a"), ("X-Kept", "b")]
            if request.path.hasSuffix("/gone") {
                return [.head(status: 404, fields: fields + [("Content-Length", "0")])]
            }
            return [.head(status: 200, fields: fields + [("Content-Length", "\(picture.count)")]), .body(picture)]
        }
        func settings(_ rules: String) -> String {
            #"{"origins": {"one": {"match": "/one/", "url": "\#(a.url(""))"\#(rules)}, "#
                + #""two": {"match": "/two/", "url": "\#(a.url("/two"))"}}}"#
        }
        let rules =
            #", "set-response-fields": {"X-Frame-Options": "DENY", "X-Kept": "c"}, "#
            + #""drop-response-fields": ["x-powered-by"]"#
        let server = try await server(settings(rules))
        let asked = [
            ("/one/x", "", 200), ("/one/x", "", 200), ("/one/x", "", 200),
            ("/one/x", "If-None-Match: \"1\"", 304),
            ("/one/gone", "", 404), ("/image/w=4/one/x", "", 200), ("/image/w=4/one/x", "", 200),
            ("/image/nonsense/one/x", "", 400),
        ]
        for (path, field, status) in asked {
            let response = try field.isEmpty ? get(server, path) : get(server, path, field)
            #expect(response.status == status, "\(path): \(response.text)")
            #expect(response["X-Frame-Options"] == "DENY" && response["X-Kept"] == "c", "\(path): \(response.fields)")
            #expect(response["X-Powered-By"] == nil, "\(path)")
        }
        let other = try get(server, "/two/x")
        #expect(other["X-Frame-Options"] == nil && other["X-Powered-By"] == "a" && other["X-Kept"] == "b")
        let requests = a.requests.count
        try directory.write(settings(""), to: "server.json")
        server.process.send(signal: SIGHUP)
        #expect(try await eventually { try get(server, "/one/x")["X-Powered-By"] == "a" }, "it was stored")
        #expect(a.requests.count == requests)
    }

    @Test func `a failing origin's circuit opens without affecting others, and its stale files are served`()
        async throws
    {
        let isDown = Locked(false)
        let a = try origin("a", cacheControl: "max-age=0, stale-if-error=600") { isDown.withLock { $0 } ? 503 : 200 }
        let b = try origin("b")
        let server = try await server(
            """
            {"origin": "\(b.url(""))",
             "origins": {"shop": {"match": "/shop/", "url": "\(a.url(""))", "breaker-failures": 3, "breaker-pause": "300ms",
                                  "origin-retries": 0}}}
            """)
        #expect(try get(server, "/shop/x").text == "a /x")
        isDown.withLock { $0 = true }
        for number in 0..<3 { #expect(try get(server, "/shop/\(number)").status == 503) }
        let count = a.requests.count
        let refused = try get(server, "/shop/y")
        if refused.text.contains("origin-left-alone") {
            #expect(refused.status == 503 && refused["Retry-After"] == "1")
            #expect(a.requests.count == count)
        } else {
            // The pause was over already: it was the trial.
            #expect(a.requests.count == count + 1)
        }
        let stale = try get(server, "/shop/x")
        #expect(stale.status == 200 && stale.text == "a /x", "\(stale.fields)")
        #expect(try get(server, "/x").text == "b /x")
        let admin = try server.adminPort()
        let metrics = try #require(try Client(admin).ask("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")).text
        #expect(metrics.contains("imgcache_origin_available{origin=\"shop\"} 0"), "\(metrics)")
        #expect(metrics.contains("imgcache_origin_available{origin=\"default\"} 1"))
        let summary = try #require(try Client(admin).ask("GET /api/summary HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")).text
        #expect(summary.contains("\"name\":\"shop\"") && summary.contains("open"), "\(summary)")
        isDown.withLock { $0 = false }
        #expect(try await eventually { try get(server, "/shop/z").text == "a /z" })
        #expect(try get(server, "/shop/0").text == "a /0")
        #expect(server.process.errorOutput.contains("an origin is left alone after failures"))
        #expect(await server.process.says("an origin is asked again"))
    }

    @Test func `an origin that goes away and comes back is asked again`() async throws {
        let isAway = Locked(false)
        let body = Array("here".utf8)
        let a = try ScriptedOrigin { _ in
            let fields = [("Content-Length", "4"), ("Cache-Control", "no-store"), ("Connection", "close")]
            return [.head(status: 200, fields: fields), .body(body), .cut(reset: false)]
        }
        let relay = try Relay(to: a.port) { _ in isAway.withLock { $0 } ? Relay.Cut(after: 0, isReset: true) : nil }
        let server = try await server(
            """
            {"origins": {"a": {"match": "/a/", "url": "http://127.0.0.1:\(relay.port)", "breaker-failures": 2,
                               "breaker-pause": "100ms", "origin-retries": 0}}}
            """)
        #expect(try get(server, "/a/x").text == "here")
        isAway.withLock { $0 = true }
        let first = try get(server, "/a/x")
        #expect(first.status == 502 && first.text.contains("origin-unreachable"), "\(first.text)")
        let number = Locked(0)
        func another() throws -> String {
            try get(server, "/a/\(number.withLock { number in number += 1; return number })").text
        }
        #expect(try await eventually { try another().contains("origin-left-alone") })
        let image = try get(server, "/image/w=9/a/x")
        #expect([502, 503].contains(image.status), "\(image.text)")
        isAway.withLock { $0 = false }
        #expect(try await eventually { try get(server, "/a/x").text == "here" })
        #expect(try get(server, "/a/y").text == "here")
    }

    @Test func `one client's failing requests open an origin's circuit for that client alone`() async throws {
        let a = try ScriptedOrigin { request in
            let isGood = request.path.hasPrefix("/good/")
            return [
                .head(status: isGood ? 200 : 503, fields: [("Content-Length", "0"), ("Cache-Control", "no-store")])
            ]
        }
        let server = try await server(
            """
            {"origins": {"a": {"match": "/a/", "url": "\(a.url(""))", "breaker-failures": 3, "breaker-pause": "10min",
                               "origin-retries": 0}}}
            """)
        func get(_ path: String, from client: String) throws -> Client.Response {
            try #require(try Client(server.port, from: client).get(path))
        }
        // A path that fails is no reason to refuse others, even of the same client.
        for _ in 0..<10 { #expect(try get("/a/bad", from: "127.0.0.2").text.isEmpty) }
        #expect(try get("/a/good/0", from: "127.0.0.2").status == 200)
        for number in 0..<50 {
            _ = try get("/a/bad/\(number)", from: "127.0.0.2")
            #expect(try get("/a/good/\(number)", from: "127.0.0.3").status == 200, "\(number)")
        }
        #expect(try get("/a/good/x", from: "127.0.0.2").text.contains("origin-left-alone"))
        #expect(try get("/a/good/x", from: "127.0.0.4").status == 200)
        let metrics = try #require(
            try Client(try server.adminPort()).ask("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        ).text
        #expect(metrics.contains("imgcache_origin_available{origin=\"a\"} 1"), "\(metrics)")
    }

    @Test func `failures of a redirect's target do not count as failures of the origin`() async throws {
        let cdn = try ScriptedOrigin { request in
            request.path == "/cut"
                ? [.cut(reset: true)] : [.head(status: 503, fields: [("Content-Length", "0")])]
        }
        let a = try ScriptedOrigin { request in
            let isGood = request.path.hasPrefix("/good")
            let target = cdn.url(request.path.hasPrefix("/c") ? "/cut" : "/x")
            let fields = [("Content-Length", "0"), ("Location", target)]
            return [.head(status: isGood ? 200 : 302, fields: fields)]
        }
        let server = try await server(
            """
            {"origins": {"a": {"match": "/a/", "url": "\(a.url(""))", "breaker-failures": 3, "breaker-pause": "10min",
                               "origin-retries": 0, "allow-hosts": ["127.0.0.1:\(cdn.port)"]},
                         "cdn": {"match": "/cdn/", "url": "\(cdn.url(""))"}}}
            """)
        // Images follow redirects.
        for number in 0..<5 {
            #expect([502, 503].contains(try get(server, "/image/w=9/a/c\(number)").status))
            #expect(try get(server, "/image/w=9/a/s\(number)").status == 503)
        }
        #expect(cdn.requests.count >= 10)
        #expect(try get(server, "/a/good").status == 200)
    }

    @Test func `a purge affects one origin only`() async throws {
        let (a, b) = (try origin("a"), try origin("b"))
        let server = try await server(
            """
            {"origins": {"a": {"match": ["/a/", "a.example"], "url": "\(a.url("/base"))", "set-fields": {"X-Key": "1"}},
                         "b": {"match": "/b/", "url": "\(b.url("/base"))"}}}
            """)
        func purge(_ head: String, _ body: String = "") throws -> Client.Response {
            let fields =
                "Authorization: Bearer token\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)"
            return try #require(try Client(try server.adminPort()).ask("\(head)\r\n\(fields)\r\n\r\n\(body)"))
        }
        for path in ["/a/1", "/a/2", "/a/3", "/b/1"] {
            #expect(await eventually { (try? get(server, path))?["Cache-Status"]?.contains("hit") == true })
        }
        #expect(try purge("PURGE /a/1 HTTP/1.1\r\nHost: 127.0.0.1").status == 200)
        #expect(try purge("PURGE /1 HTTP/1.1\r\nHost: 127.0.0.1").status == 404)
        #expect(try purge("PURGE /3 HTTP/1.1\r\nHost: a.example").status == 200)
        let all = try purge("POST /purge HTTP/1.1\r\nHost: 127.0.0.1", #"{"origin": "a"}"#)
        #expect(all.status == 200 && all.text.contains("\"purged\":1"), "\(all.text)")
        #expect(try purge("POST /purge HTTP/1.1\r\nHost: 127.0.0.1", #"{"origin": "c"}"#).status == 400)
        #expect(try get(server, "/b/1")["Cache-Status"]?.contains("hit") == true)
        #expect(try get(server, "/a/2")["Cache-Status"]?.contains("hit") == false)
    }

    @Test func `a reload replaces all settings or none, and loses no request`() async throws {
        let (a, b) = (try origin("a", cacheControl: "no-store"), try origin("b", cacheControl: "no-store"))
        func settings(_ one: ScriptedOrigin, _ two: ScriptedOrigin, _ more: String = "") -> String {
            """
            {"origins": {
              "one": {"match": "/one/", "url": "\(one.url("/p"))"},
              "two": {"match": "/two/", "url": "\(two.url("/p"))"\(more)}
            }}
            """
        }
        let server = try await server(settings(a, b))
        let isOver = Locked(false)
        let port = server.port
        let crowd = (0..<4).map { _ in
            Task {
                try await onThreadOfItsOwn { () -> [String: Int] in
                    var counts: [String: Int] = [:]
                    let client = try Client(port)
                    while !isOver.withLock({ $0 }) {
                        for path in ["/one/x", "/two/x"] {
                            let answer = client.get(path)
                            counts["\(path) \(answer?.status ?? 0) \(answer?.text ?? "")", default: 0] += 1
                        }
                    }
                    return counts
                }
            }
        }
        // WHEN the two change places again and again
        for round in 1...10 {
            try directory.write(round % 2 == 1 ? settings(b, a) : settings(a, b), to: "server.json")
            server.process.send(signal: SIGHUP)
            let expected = round % 2 == 1 ? "b /p/x" : "a /p/x"
            #expect(try await eventually { try get(server, "/one/x").text == expected })
        }
        isOver.withLock { $0 = true }
        for task in crowd {
            let counts = try await task.value
            let expected = Set(["a", "b"].flatMap { name in ["one", "two"].map { "/\($0)/x 200 \(name) /p/x" } })
            #expect(Set(counts.keys).isSubset(of: expected), "\(counts)")
        }
        // THEN an error in one origin leaves the other one as it was, too
        try directory.write(settings(b, a, #", "origin-timeout": "soon""#), to: "server.json")
        server.process.send(signal: SIGHUP)
        #expect(
            await server.process.says("server.json:3: origins.two.origin-timeout \"soon\""),
            "\(server.process.errorOutput)")
        #expect(try get(server, "/one/x").text == "a /p/x")
    }

    @Test func `after a reload, a response of the former configuration is not served from memory`() async throws {
        let (a, b) = (try origin("a"), try origin("b"))
        let server = try await server(#"{"origin": "\#(a.url(""))"}"#)
        let client = try Client(server.port)
        for _ in 0..<20 { #expect(client.get("/x")?.text == "a /x") }
        try directory.write(#"{"origin": "\#(b.url(""))"}"#, to: "server.json")
        server.process.send(signal: SIGHUP)
        #expect(await server.process.says("configuration reloaded"))
        for _ in 0..<20 { #expect(client.get("/x")?.text == "b /x") }
        try directory.write(#"{"origins": {"a": {"match": "/a/", "url": "\#(a.url(""))"}}}"#, to: "server.json")
        server.process.send(signal: SIGHUP)
        #expect(await eventually { client.get("/x")?.status == 404 })
        #expect(client.get("/a/x")?["Cache-Status"]?.contains("hit") == true)
    }
}
