import Foundation
import TestSupport
import Testing

/// The admin listener through real sockets.
@Suite(.fewAtATime) struct AdminTests {
    private let origin: ScriptedOrigin
    private let server: ServerProcess
    private let admin: UInt16

    private static let token = "a token for tests"
    private static let authorized = "Authorization: Bearer \(token)"

    init() async throws {
        let picture = try Self.picture()
        origin = try ScriptedOrigin { request in
            let body = request.path.hasSuffix(".png") ? picture : Array("text of \(request.path)".utf8)
            let type = request.path.hasSuffix(".png") ? "image/png" : "text/plain"
            let fields = [
                ("Cache-Control", "max-age=3600"), ("ETag", "\"1\""), ("Content-Type", type),
                ("Content-Length", "\(body.count)"),
            ]
            return [.head(status: 200, fields: fields), .body(body)]
        }
        server = try await ServerProcess(
            origin: origin.url(""), "--admin", "127.0.0.1:0", "--public-hosts", "cdn.example",
            environment: ["IMGCACHE_ADMIN_TOKEN": Self.token])
        admin = try server.adminPort()
    }

    /// A PNG of 64 × 48 pixels.
    private static func picture() throws -> [UInt8] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("TestAssets/png")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        let name = try #require(files.first { $0.contains("hopper") } ?? files.first)
        return Array(try Data(contentsOf: folder.appendingPathComponent(name)))
    }

    private func ask(
        _ method: String, _ path: String, _ fields: [String] = [], body: String? = nil, at port: UInt16? = nil
    ) throws -> Client.Response {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for field in fields { head += field + "\r\n" }
        if let body { head += "Content-Length: \(body.utf8.count)\r\n" }
        return try #require(try Client(port ?? admin).ask(head + "\r\n" + (body ?? "")))
    }

    private func get(_ path: String, _ fields: String...) throws -> Client.Response { try ask("GET", path, fields) }

    private func json(_ answer: Client.Response) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
    }

    /// Requests the paths, and waits until they are stored: a client has the last byte before the store has the entry.
    private func fetch(_ paths: String...) throws {
        for path in paths { #expect(try #require(Client(server.port).get(path)).status == 200) }
        for path in paths {
            let name = path.split(separator: "?")[0].split(separator: "/").last ?? ""
            block { (try? entries(String(name)).isEmpty) == false }
        }
    }

    private func entries(_ search: String = "") throws -> [[String: Any]] {
        try #require(try json(get("/api/entries?search=\(search)"))["entries"] as? [[String: Any]])
    }

    @Test func `the server reports that it is alive and ready`() throws {
        #expect(try get("/healthz").text == #"{"status":"ok"}"#)
        #expect(try get("/readyz").status == 200)
        #expect(try ask("HEAD", "/healthz").status == 200)
    }

    @Test func `a stopping server is not ready while it finishes running requests`() async throws {
        let gate = Gate()
        let slow = try ScriptedOrigin { _ in
            [.head(status: 200, fields: [("Content-Length", "4")]), .wait(for: gate), .body(Array("done".utf8))]
        }
        let server = try await ServerProcess(origin: slow.url(""), "--admin", "127.0.0.1:0")
        let admin = try server.adminPort()
        let client = try Client(server.port)
        client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        try await until { slow.requests.count == 1 }
        server.process.send(signal: 15)
        try await until { try ask("GET", "/readyz", at: admin).status == 503 }
        gate.open()
        #expect(client.answer()?.text == "done")
        #expect(await server.process.end() == .exited(0))
        #expect(!server.process.errorOutput.contains("EventLoop"), "\(server.process.errorOutput)")
    }

    @Test func `metrics count requests by outcome, and what the store holds, in Prometheus's format`() async throws {
        try fetch("/a", "/a", "/b")
        // A client has its response before the request has ended.
        try await until { try get("/metrics").text.contains("imgcache_response_bytes_total 30\n") }
        let answer = try get("/metrics")
        #expect(answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
        let lines = Set(answer.text.split(separator: "\n"))
        #expect(lines.contains(#"imgcache_requests_total{cache="hit",status="2xx"} 1"#))
        #expect(lines.contains(#"imgcache_requests_total{cache="miss",status="2xx"} 2"#))
        #expect(lines.contains(#"imgcache_request_duration_seconds_count{cache="hit"} 1"#))
        #expect(lines.contains("imgcache_response_bytes_total 30"))
        #expect(lines.contains("imgcache_store_entries 2"))
        #expect(lines.contains("imgcache_origin_requests_total 2"))
        #expect(lines.contains("imgcache_evictions_total 0"))
        #expect(lines.contains(#"imgcache_origin_responses_total{status="200"} 2"#))
        #expect(lines.contains("imgcache_origin_response_seconds_count 2"))
        #expect(lines.contains { $0.hasPrefix(#"imgcache_build_info{version=""#) })
        #expect(lines.contains("# TYPE imgcache_request_duration_seconds histogram"))
        // Every line is a comment or a name, perhaps dimensions, and a number.
        let form = /[a-zA-Z_:][a-zA-Z0-9_:]*(\{[a-zA-Z_]+="[^"]*"(,[a-zA-Z_]+="[^"]*")*\})? [-+0-9.eInfNa]+/
        for line in lines where !line.hasPrefix("#") { #expect(line.wholeMatch(of: form) != nil, "\(line)") }
    }

    @Test
    func `metrics count current connections and requests, and separately the clients that left`()
        async throws
    {
        let gate = Gate()
        let slow = try ScriptedOrigin { _ in
            [.wait(for: gate), .head(status: 200, fields: [("Content-Length", "4")]), .body(Array("done".utf8))]
        }
        let server = try await ServerProcess(
            origin: slow.url(""), "--admin", "127.0.0.1:0", "--max-requests", "2", "--max-requests-per-client", "2")
        let admin = try server.adminPort()
        func lines() throws -> Set<Substring> { Set(try ask("GET", "/metrics", at: admin).text.split(separator: "\n")) }
        var clients = try (0..<3).map { try Client(server.port, asking: "/\($0)") }
        try await until { try lines().contains("imgcache_requests_waiting 1") }
        #expect(try lines().isSuperset(of: ["imgcache_requests_running 2", "imgcache_connections 3"]))
        clients.removeLast()
        try await until { try lines().contains("imgcache_requests_abandoned_total 1") }
        gate.open()
        #expect(clients.map { $0.answer()?.text } == ["done", "done"])
        try await until { try lines().contains("imgcache_requests_running 0") }
        #expect(
            try lines().contains {
                $0.hasPrefix("imgcache_requests_total") && $0.contains("1xx") && !$0.hasSuffix(" 0")
            } == false)
        // Counters start at 0, so that the first event is an increase.
        #expect(
            try lines().isSuperset(of: [
                #"imgcache_requests_total{cache="stale",status="5xx"} 0"#,
                #"imgcache_requests_refused_total{reason="queue"} 0"#,
            ]))
    }

    @Test func `an origin's failures and the errors that clients got are counted by their code`() async throws {
        let server = try await ServerProcess(
            origin: "http://127.0.0.1:1", "--admin", "127.0.0.1:0", "--origin-retries", "0")
        #expect(try ask("GET", "/a", at: server.port).status == 502)
        let admin = try server.adminPort()
        func has(_ line: String) throws -> Bool {
            try ask("GET", "/metrics", at: admin).text.split(separator: "\n").contains { $0 == line }
        }
        try await until { try has("imgcache_errors_total{code=\"origin-unreachable\"} 1") }
        #expect(try has("imgcache_origin_failures_total{code=\"connect\"} 1"))
    }

    @Test func `the most requested and the slowest targets are listed without their secrets`() async throws {
        try fetch("/a", "/a?token=abc", "/a", "/b", "/a", "/a?token=abc")
        struct Ranking: Decodable {
            struct Target: Decodable {
                var target: String
                var requests: Int?
                var sentBytes: Int?
                var milliseconds: Double?
            }
            var mostRequested: [Target]
            var slowest: [Target]
        }
        func told() throws -> Ranking {
            try JSONDecoder().decode(Ranking.self, from: Data(get("/api/requests?limit=3").text.utf8))
        }
        // A client has its response before the request has ended.
        try await until { try told().mostRequested.compactMap(\.requests).reduce(0, +) == 6 }
        let ranking = try told()
        #expect(ranking.mostRequested.map(\.target) == ["/a", "/a?token=***", "/b"])
        #expect(ranking.mostRequested.map(\.requests) == [3, 2, 1])
        #expect(ranking.mostRequested.first?.sentBytes == 30 && ranking.mostRequested.last?.sentBytes == 10)
        #expect(ranking.slowest.count == 3)
        let times = ranking.slowest.compactMap(\.milliseconds)
        #expect(times == times.sorted(by: >))
        for limit in ["0", "21"] { #expect(try get("/api/requests?limit=\(limit)").status == 400) }
    }

    @Test func `an error is listed with its cause, id and target, and a failing origin as a problem`() async throws {
        let dead = try await ServerProcess(
            origin: "http://127.0.0.1:1", "--admin", "127.0.0.1:0", "--breaker-failures", "3", "--isolate-decoders",
            "off")
        let port = try dead.adminPort()
        func json(_ path: String) throws -> [String: Any] { try self.json(ask("GET", path, at: port)) }
        let first = try #require(try Client(dead.port).ask("GET /broken?token=abc HTTP/1.1\r\nHost: x\r\n\r\n"))
        for number in 0..<3 { _ = try Client(dead.port).get("/broken-\(number)") }
        let id = try #require(first["X-Request-Id"])
        try await until { ((try json("/api/requests")["errors"] as? [Any])?.count ?? 0) == 4 }
        let requests = try json("/api/requests")
        let errors = try #require(requests["errors"] as? [[String: Any]])
        let known = try #require(errors.first { $0["id"] as? String == id })
        #expect(known["target"] as? String == "/broken?token=***" && known["status"] as? Int == 502)
        #expect(known["error"] as? String == "origin-unreachable" && (known["detail"] as? String)?.isEmpty == false)
        let failing = try #require(requests["failing"] as? [[String: Any]])
        #expect(failing.compactMap { $0["requests"] as? Int }.reduce(0, +) == 4)
        let summary = try json("/api/summary")
        let problems = try #require(summary["problems"] as? [[String: Any]])
        #expect(problems.compactMap { $0["severity"] as? String } == ["error", "warning"])
        #expect(problems.first?["metric"] as? String == "imgcache_origin_available")
        let origins = try #require(summary["origins"] as? [[String: Any]])
        #expect(origins.first?["errorRatio"] as? Double == 1 && origins.first?["state"] as? String == "open")
    }

    @Test func `rendered images are counted by format and preset`() async throws {
        let server = try await ServerProcess(
            origin: origin.url(""), "--admin", "127.0.0.1:0", "--presets", "card: w=20,f=webp")
        let port = try server.adminPort()
        for target in ["/image/card/a.png", "/image/card/b.png", "/image/w=22,f=jpeg/a.png", "/image/card/a.png"] {
            #expect(try Client(server.port).get(target)?.status == 200)
        }
        let metric = try ask("GET", "/metrics?name=imgcache_images_rendered_total", at: port).text
        #expect(metric.contains(#"{format="WebP",preset="card"} 2"#))
        #expect(metric.contains(#"{format="JPEG",preset=""} 1"#) && metric.contains(#"{format="AVIF",preset=""} 0"#))
        #expect(!metric.contains("imgcache_store"))
        let images = try #require(try json(ask("GET", "/api/summary", at: port))["images"] as? [String: Any])
        #expect((images["kinds"] as? [[String: Any]])?.first?["preset"] as? String == "card")
        #expect(images["workers"] as? String == "available" && images["crashes"] as? Int == 0)
    }

    @Test func `entries are filtered and sorted`() throws {
        try fetch("/long", "/a.png", "/image/w=20/a.png", "/b")
        func urls(_ query: String) throws -> [String] {
            try #require(try json(get("/api/entries?\(query)"))["entries"] as? [[String: Any]])
                .compactMap { ($0["url"] as? String).map { String($0.dropFirst(origin.url("").count)) } }
        }
        #expect(try urls("kind=files") == ["/b", "/a.png", "/long"])
        #expect(try urls("kind=images") == ["/a.png"])
        #expect(try urls("kind=errors").isEmpty && urls("kind=stale").isEmpty)
        #expect(try urls("kind=files&sort=largest").first == "/a.png")
        #expect(try urls("kind=files&sort=unused").last == "/b")
        #expect(try urls("kind=files&sort=used").first == "/b")
        #expect(try urls("kind=files&limit=2") == ["/b", "/a.png"])
        let next = try #require(try json(get("/api/entries?kind=files&limit=2"))["next"] as? String)
        #expect(try urls("kind=files&limit=2&after=\(next)") == ["/long"])
        for query in ["kind=x", "sort=x"] { #expect(try get("/api/entries?\(query)").status == 400) }
    }

    @Test func `the admin listener shows the settings in force without secrets`() throws {
        let answer = try get("/api/settings")
        let settings = try json(answer)
        #expect(settings["origin"] as? String == origin.url(""))
        #expect(!answer.text.contains(Self.token) && settings["admin-token-file"] == nil)
    }

    @Test func `the admin page shows the current counts of requests, hits and misses`() async throws {
        try fetch("/a", "/a", "/a", "/b")
        try await until {
            let totals = try json(get("/api/summary"))["totals"] as? [String: Any]
            return totals?["requests"] as? Int == 4 && totals?["hits"] as? Int == 2 && totals?["misses"] as? Int == 2
        }
        let summary = try json(get("/api/summary"))
        #expect(summary["state"] as? String == "ready")
        #expect(summary["canPurge"] as? Bool == true)
        let origins = try #require(summary["origins"] as? [[String: Any]])
        #expect(origins.map { $0["url"] as? String } == [origin.url("")])
        #expect(origins.map { $0["state"] as? String } == ["closed"])
        #expect((summary["store"] as? [String: Any])?["entries"] as? Int == 2)
        let series = try json(get("/api/series?step=1"))
        let requests = try #require((series["series"] as? [String: Any])?["requests"] as? [Any])
        #expect(requests.count == 600)
        #expect(requests.compactMap { $0 as? Double }.reduce(0, +) > 0)
        let since = try #require(series["start"] as? Int) + 599
        #expect(try json(get("/api/series?step=1&since=\(since)"))["start"] as? Int == since)
        #expect(try json(get("/api/series?step=60"))["length"] as? Int == 1440)
        #expect(try get("/api/series?step=7").status == 400)
    }

    @Test func `running transfers are listed with their progress`() async throws {
        let gate = Gate()
        let slow = try ScriptedOrigin { _ in
            [
                .head(
                    status: 200,
                    fields: [("Content-Length", "600000"), ("Cache-Control", "max-age=60"), ("ETag", "\"1\"")]),
                .body([UInt8](repeating: 1, count: 300_000)), .wait(for: gate),
                .body([UInt8](repeating: 1, count: 300_000)),
            ]
        }
        let server = try await ServerProcess(origin: slow.url(""), "--admin", "127.0.0.1:0")
        let admin = try server.adminPort()
        let client = try Client(server.port)
        client.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        try await until {
            let transfers = try json(ask("GET", "/api/transfers", at: admin))["transfers"] as? [[String: Any]]
            return transfers?.first?["url"] as? String == slow.url("/large")
                && transfers?.first?["total"] as? Int == 600_000
                && (transfers?.first?["received"] as? Int ?? 0) > 0
        }
        gate.open()
        #expect(client.answer()?.body.count == 600_000)
    }

    @Test func `entries are found by their URL, page by page, each with its freshness in words`() throws {
        try fetch("/cats/1", "/cats/2", "/dogs/1", "/cats/3")
        #expect(try entries("CATS").map { $0["url"] as? String } == ["3", "2", "1"].map { origin.url("/cats/\($0)") })
        let words = try #require((try entries("dogs").first?["freshness"] as? [String: Any])?["summary"] as? String)
        #expect(words == "Fresh for 1 h" || words.hasPrefix("Fresh for 59 min"))
        let first = try json(get("/api/entries?limit=3"))
        #expect((first["entries"] as? [Any])?.count == 3)
        let next = try #require(first["next"] as? String)
        let second = try json(get("/api/entries?limit=3&after=\(next)"))
        #expect((second["entries"] as? [[String: Any]])?.map { $0["url"] as? String } == [origin.url("/cats/1")])
        #expect(try get("/api/entries?limit=0").status == 400)
        #expect(try get("/api/entries?after=zz").status == 400)
    }

    @Test func `a rendered image is listed by its own type and with its options in words`() throws {
        try fetch(
            "/image/w=20,f=webp,q=70/a.png", "/image/w=24,h=20,fit=cover,f=jpeg,blur=4/a.png", "/image/w=22/a.png")
        let made = try entries().filter { $0["recipe"] != nil }
        let types = Dictionary(
            uniqueKeysWithValues: made.map { ($0["recipe"] as? String ?? "", $0["type"] as? String ?? "") })
        #expect(
            types == [
                "20 × 8192, fit inside, WebP quality 70": "image/webp",
                "24 × 20, fit cover, enlarged, blur 2, JPEG quality 80": "image/jpeg",
                "22 × 8192, fit inside, format of the original, JPEG quality 80": "image/png",
            ])
    }

    @Test func `only an entry that is an image has a preview`() throws {
        try fetch("/a.png", "/a.txt")
        let found = try entries()
        let picture = try #require(found.first { ($0["url"] as? String)?.hasSuffix("png") == true })
        let answer = try get("/" + #require(picture["preview"] as? String))
        #expect(answer.status == 200)
        #expect(answer["Content-Type"]?.hasPrefix("image/") == true)
        #expect(answer["Cache-Control"]?.contains("immutable") == true)
        let text = try #require(found.first { ($0["url"] as? String)?.hasSuffix("txt") == true })
        #expect(text["preview"] == nil)
        #expect(try get("/api/entries/\(text["id"] as? String ?? "")/thumbnail").status == 204)
        #expect(try get("/api/entries/1/thumbnail").status == 204)
        #expect(origin.requests.count == 2)
    }

    @Test func `one entry is purged, and the next request asks the origin`() throws {
        try fetch("/a", "/b")
        let id = try #require(try entries("/a").first?["id"] as? String)
        #expect(try ask("DELETE", "/api/entries/\(id)").status == 401)
        #expect(try entries().count == 2)
        let answer = try json(ask("DELETE", "/api/entries/\(id)", [Self.authorized]))
        #expect(answer["purged"] as? Int == 1)
        #expect(try entries().count == 1)
        try fetch("/a")
        #expect(origin.requests.count == 3)
    }

    @Test func `a purge takes a URL, a prefix, a host or everything`() throws {
        func purge(_ body: String) throws -> Int? {
            let fields = [Self.authorized, "Content-Type: application/json"]
            return try json(ask("POST", "/purge", fields, body: body))["purged"] as? Int
        }
        try fetch("/a/1", "/a/2", "/b/1", "/b/2", "/c")
        #expect(try purge(#"{"url":"\#(origin.url("/a/1"))"}"#) == 1)
        #expect(try purge(#"{"prefix":"\#(origin.url("/b/"))"}"#) == 2)
        #expect(try purge(#"{"host":"elsewhere.example"}"#) == 0)
        #expect(try purge(#"{"host":"127.0.0.1"}"#) == 2)
        try fetch("/d")
        #expect(try purge(#"{"all":true}"#) == 1)
        #expect(try entries().isEmpty)
        // The URL of a client stands for the file, or for the original of the image.
        try fetch("/e?x=1", "/f")
        for url in [
            "https://cdn.example/f", "https://cdn.example/image/w=200,f=webp/f", "http://other.example/image/info/f",
        ] {
            #expect(try purge(#"{"url":"\#(url)"}"#) == 1, "\(url)")
            #expect(try purge(#"{"url":"\#(url)"}"#) == 0, "\(url)")
            try fetch("/f")
        }
        #expect(try purge(#"{"url":"https://other.example/f"}"#) == 0)
        #expect(try ask("PURGE", "/image/w=200/f", [Self.authorized]).status == 200)
        // PURGE, as other caches have it.
        #expect(try ask("PURGE", "/e?x=1").status == 401)
        #expect(try ask("PURGE", "/e?x=1", [Self.authorized]).status == 200)
        #expect(try ask("PURGE", "/e?x=1", [Self.authorized]).status == 404)
    }

    @Test(
        arguments: [
            ([], #"{"all":true}"#, 401), (["Authorization: Bearer wrong"], #"{"all":true}"#, 403),
            (["Authorization: Basic eDp5"], #"{"all":true}"#, 401), ([authorized], "{}", 400),
            ([authorized], "all", 400),
            ([authorized], #"{"prefix":""}"#, 400),
            ([authorized, "X: text"], String(repeating: " ", count: 70_000), 413),
        ] as [([String], String, Int)])
    func `a purge without authorisation or without a target is refused and removes nothing`(
        fields: [String], body: String, status: Int
    ) throws {
        try fetch("/a")
        #expect(try ask("POST", "/purge", fields + ["Content-Type: application/json"], body: body).status == status)
        #expect(try entries().count == 1)
    }

    @Test func `a purge that a form of another page could send is refused`() throws {
        try fetch("/a")
        for type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
            #expect(
                try ask("POST", "/purge", [Self.authorized, "Content-Type: \(type)"], body: #"{"all":true}"#).status
                    == 415)
        }
        #expect(try entries().count == 1)
    }

    @Test func `without a configured token, every purge is refused`() async throws {
        let server = try await ServerProcess(origin: origin.url(""), "--admin", "127.0.0.1:0")
        let client = try Client(try server.adminPort())
        let head = "POST /purge HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 12\r\n"
        #expect(client.ask(head + "Authorization: Bearer x\r\n\r\n{\"all\":true}")?.status == 403)
    }

    @Test(arguments: ["[evil]", "[evil]:80", "", "127.0.0.1@evil.example", "127.1", "[::1", "localhost, evil.example"])
    func `an invalid Host field is refused by the admin listener`(host: String) throws {
        for path in ["/", "/metrics", "/api/entries"] {
            let answer = try #require(try Client(admin).ask("GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\r\n"))
            #expect(answer.status == 400, "\(host)")
            #expect(!answer.text.contains(origin.url("")))
        }
    }

    @Test func `two Host fields, or none, are refused by the admin listener`() throws {
        for fields in ["Host: localhost\r\nHost: evil.example\r\n", "Host: evil.example\r\nHost: localhost\r\n", ""] {
            let answer = try Client(admin).ask("GET /metrics HTTP/1.1\r\n\(fields)\r\n")
            #expect(answer?.status == 400, "\(fields)")
        }
    }

    @Test(arguments: ["evil.example", "evil.example:80"])
    func `a request for a foreign host name is refused by the admin listener`(host: String) throws {
        for path in ["/", "/metrics", "/api/entries"] {
            let answer = try #require(try Client(admin).ask("GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\r\n"))
            #expect(answer.status == 421)
            #expect(!answer.text.contains(origin.url("")))
        }
    }

    @Test func `a URL in the request line is checked by its own host, and PURGE accepts one`() throws {
        let lured = try Client(admin).ask("GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(lured?.status == 421)
        try fetch("/w")
        let address = origin.url("/w")
        #expect(try ask("PURGE", address, [Self.authorized]).status == 200)
        #expect(try entries().isEmpty)
    }

    @Test func `the admin page has a strict content policy and is not sent again if unchanged`() throws {
        let page = try get("/")
        #expect(page.status == 200)
        #expect(page["Content-Type"] == "text/html; charset=utf-8")
        #expect(page["Content-Security-Policy"]?.hasPrefix("default-src 'none'; script-src 'self'") == true)
        #expect(page["X-Content-Type-Options"] == "nosniff")
        #expect(page["Cross-Origin-Resource-Policy"] == "same-origin")
        #expect(page["Referrer-Policy"] == "no-referrer")
        #expect(try get("/", "If-None-Match: \(#require(page["ETag"]))").status == 304)
        // All that it names is there.
        for name in ["page.css", "theme.js", "main.js", "icon.svg"] {
            #expect(page.text.contains("\"\(name)\""))
            #expect(try get("/" + name).status == 200)
        }
        #expect(try get("/main.js")["Content-Type"] == "text/javascript; charset=utf-8")
    }

    @Test(arguments: [
        "/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/api/entries/..%2f..%2fetc/thumbnail", "//etc/passwd",
        "/api/entries/%00/thumbnail", "/index.html/../../etc/passwd", "/nothing", "/api",
    ])
    func `no path leads to a file outside the admin page`(path: String) throws {
        let answer = try get(path)
        #expect([400, 404].contains(answer.status))
        #expect(answer.text.hasPrefix(#"{""#))
        #expect(!answer.text.contains("root:"))
    }

    @Test func `the admin token is read from a file without its line end`() async throws {
        let folder = try TestDirectory()
        let file = folder.path("token")
        let secret: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        #expect(FileManager.default.createFile(atPath: file, contents: Data("from a file\n".utf8), attributes: secret))
        let server = try await ServerProcess(
            origin: origin.url(""), "--admin", "127.0.0.1:0", "--admin-token-file", file)
        let client = try Client(try server.adminPort())
        let answer = client.ask("PURGE /a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer from a file\r\n\r\n")
        #expect(answer?.status == 404)
        // Another token is taken over by SIGHUP, the former is then refused.
        try Data("another\n".utf8).write(to: URL(fileURLWithPath: file))
        server.process.send(signal: 1)
        let port = try server.adminPort()
        try await until { try ask("PURGE", "/a", ["Authorization: Bearer another"], at: port).status == 404 }
        #expect(try ask("PURGE", "/a", ["Authorization: Bearer from a file"], at: port).status == 403)
    }

    @Test func `a purged response is also removed from memory`() async throws {
        // Twice from the store: from then on memory answers.
        try fetch("/m", "/m", "/m", "/m")
        #expect(origin.requests.count == 1)
        #expect(try ask("PURGE", "/m", [Self.authorized]).status == 200)
        try fetch("/m")
        #expect(origin.requests.count == 2)
    }
}

/// Service while nothing can be stored.
@Suite(.fewAtATime, .enabled(if: Tmpfs.unavailableReason == nil, "mounting a tmpfs needs root"))
struct FullStoreTests {
    @Test
    func `on a full disk, bodies are passed on whole and the server is not ready`()
        async throws
    {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: 1, size: Int64(request.path.dropFirst(2)) ?? 0))
        }
        let disk = try Tmpfs(size: 64 << 20)
        let server = try await ServerProcess(
            origin: origin.url(""), "--admin", "127.0.0.1:0", "--capacity", "32MiB", "--cache-dir",
            disk.path + "/cache")
        let admin = try server.adminPort()
        func readiness() throws -> Client.Response? {
            try Client(admin).ask("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        }
        #expect(try Client(server.port).get("/a100")?.body.count == 100)
        #expect(try readiness()?.status == 200)
        #expect(throws: SystemCallFailure.self) {
            try Content(seed: 2, size: 65 << 20).write(to: disk.path + "/ballast")
        }
        #expect(try readiness()?.text.contains("unwritable") == true)
        for size in [0, 16, 5000, 100_000, 300_000, 3_000_000, 40_000_000] {
            #expect(try Client(server.port).get("/b\(size)")?.body.count == size)
        }
        #expect(server.log.allSatisfy { $0["cut_short"] == nil }, "\(server.log)")
        #expect(server.process.errorOutput.components(separatedBy: "cannot be stored").count == 2)
        truncate(disk.path + "/ballast", 0)
        #expect(try readiness()?.status == 200)
        #expect(try Client(server.port).get("/b16")?.body.count == 16)
        #expect(await server.logs { $0.last?["cache"] as? String == "miss" })
    }
}

/// Waits until a condition holds.
private func until(_ condition: () throws -> Bool) async throws {
    guard try await eventually(condition) else { throw TestSetupFailure("it did not come to that") }
}

extension ServerProcess {
    /// The port of the admin listener.
    func adminPort() throws -> UInt16 {
        let after = process.errorOutput.components(separatedBy: "administered on 127.0.0.1:").last ?? ""
        guard let port = UInt16(after.prefix { $0.isNumber }) else {
            throw TestSetupFailure("no admin port: \(process.errorOutput)")
        }
        return port
    }
}
