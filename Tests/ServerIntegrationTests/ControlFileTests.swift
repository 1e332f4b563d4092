import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

/// `zsync = on`: control files that the service makes for large stored files, and clients that fetch a new version by them.
@Suite(.fewAtATime) struct ControlFileTests {
    private static let size: Int64 = 9_000_000

    /// An origin of `/big` and `/big?v=2`, whose version the test changes.
    private struct Origin {
        let origin: ScriptedOrigin
        let current: Locked<Behaviour>

        init(_ representation: Representation) throws {
            let current = Locked(Behaviour(representation))
            self.current = current
            origin = try ScriptedOrigin { _ in current.withLock { $0 } }
        }

        func publish(_ representation: Representation) { current.withLock { $0.representation = representation } }
        func answer(_ status: Int) { current.withLock { $0.status = status } }
    }

    private static func version(
        _ seed: UInt64, size: Int64 = Self.size, etag: String? = nil, cacheControl: String = "max-age=3600"
    ) -> Representation {
        Representation(seed: seed, size: size, etag: etag, cacheControl: cacheControl)
    }

    /// The path of the control file that a response announces.
    private func announced(_ answer: Client.Response?) throws -> String {
        let link = try #require(answer?["Link"])
        #expect(link.hasSuffix(">; rel=\"describedby\"; type=\"application/x-zsync\""))
        return String(link.dropFirst().prefix { $0 != ">" })
    }

    /// Gets a file until it is stored, and returns the path of its control file.
    private func stored(_ server: ServerProcess, _ path: String = "/big") async throws -> String {
        #expect(try Client(server.port).get(path)?.status == 200)
        var answer: Client.Response?
        // The file is in the store soon after its last byte has been sent.
        await eventually {
            answer = try? head(server, path)
            return answer?["Link"] != nil
        }
        return try announced(answer)
    }

    private func head(_ server: ServerProcess, _ path: String) throws -> Client.Response? {
        try Client(server.port).ask("HEAD \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
    }

    @Test func `a complete file of 8 MiB or more is announced with its control file, which is made once`() async throws
    {
        let origin = try Origin(Self.version(1))
        let server = try await ServerProcess(origin: origin.origin.url(""), "--zsync")
        let first = try Client(server.port).get("/big?v=1")
        #expect(first?.status == 200 && first?["Link"] == nil, "nothing is stored yet")
        let path = try await stored(server, "/big?v=1")
        #expect(path.hasPrefix("/zsync/") && path.hasSuffix("/big?v=1"))
        #expect(try announced(head(server, "/big?v=1")) == path)
        #expect(try announced(Client(server.port).get("/big?v=1", "Range: bytes=0-9")) == path)

        let control = try #require(try Client(server.port).get(path))
        #expect(control.status == 200 && control["Content-Type"] == "application/x-zsync")
        #expect(control["ETag"] == "\"v1\"" && control["Cache-Control"] == "max-age=3600")
        #expect(control["Link"] == nil && control["Content-Range"] == nil)
        let header = String(decoding: control.body.prefix(400), as: UTF8.self)
        #expect(header.hasPrefix("zsync: 0.6.2\n") && header.contains("Length: \(Self.size)\n"))
        #expect(header.contains("URL: /big?v=1\n") && header.contains("SHA-1: "))
        #expect(try Client(server.port).get(path)?.body == control.body)
        #expect(try head(server, path)?["Content-Length"] == String(control.body.count))
        #expect(origin.origin.requests.allSatisfy { $0.request.target == "/big?v=1" })
    }

    @Test func `a control file names the URL that its client requested, and no other client's`() async throws {
        let origin = try Origin(Self.version(1))
        let server = try await ServerProcess(origin: origin.origin.url(""), "--zsync", "--ignored-parameters", "token")
        let first = try await stored(server, "/big?token=secret")
        let second = try announced(head(server, "/big"))
        let answers = try [first, second].map { try #require(try Client(server.port).get($0)) }
        let texts = answers.map { String(decoding: $0.body.prefix(400), as: UTF8.self) }
        #expect(texts[0].contains("\nURL: /big?token=secret\n") && texts[1].contains("\nURL: /big\n"))
        #expect(answers[0].body.suffix(1000) == answers[1].body.suffix(1000))
        #expect(try head(server, second)?["Content-Length"] == String(answers[1].body.count))
    }

    @Test(arguments: ["small", "weak", "encoded", "off"])
    func `a small, weakly validated or encoded file has no control file`(_ kind: String) async throws {
        let origin = try Origin(
            Self.version(1, size: kind == "small" ? (8 << 20) - 1 : Self.size, etag: kind == "weak" ? "W/\"a\"" : nil))
        if kind == "encoded" { origin.current.withLock { $0.contentEncoding = "br" } }
        let server = try await ServerProcess(origin: origin.origin.url(""), kind == "off" ? "--forwarded" : "--zsync")
        for _ in 0..<3 {
            let answer = try Client(server.port).get("/big")
            #expect(answer?.status == 200 && answer?["Link"] == nil, "\(kind)")
        }
        let answer = try Client(server.port).get("/zsync/0123456789abcdef/big")
        // Without the setting the path is the origin's.
        #expect(answer?.status == (kind == "off" ? 200 : 404))
        #expect(origin.origin.requests.contains { $0.request.target.hasPrefix("/zsync/") } == (kind == "off"))
    }

    @Test func `a control file belongs to one version and is not found after the file is gone`() async throws {
        let origin = try Origin(Self.version(1, cacheControl: "no-cache"))
        let server = try await ServerProcess(origin: origin.origin.url(""), "--zsync")
        let first = try await stored(server)
        let asked = origin.origin.requests.count
        #expect(try Client(server.port).get(first)?.status == 200)
        #expect(origin.origin.requests.count == asked + 1, "the origin confirms the file for each client")

        origin.publish(Self.version(2, cacheControl: "no-cache"))
        #expect(try Client(server.port).get(first)?.status == 404)
        let second = try await stored(server)
        #expect(second != first)
        #expect(try Client(server.port).get(second)?.status == 200)
        #expect(try Client(server.port).get(first)?.status == 404)

        origin.answer(403)
        #expect(
            try Client(server.port).get(second)?.status != 200, "who may not get the file may not get its checksums")
        for target in ["/zsync/", "/zsync/x", "/zsync//big", "/zsync/\(String(repeating: "0", count: 16))/big"] {
            let answer = try Client(server.port).get(target)
            #expect(answer?.status == 404 || answer?.status == 403, "\(target)")
        }
        let posted = try Client(server.port).ask("POST \(second) HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        #expect(posted?.status == 405)
    }

    @Test func `a purge of a control file removes its file, and is not found if there is none`() async throws {
        let origin = try Origin(Self.version(1))
        let server = try await ServerProcess(
            origin: origin.origin.url(""), "--zsync", "--admin", "127.0.0.1:0",
            environment: ["IMGCACHE_ADMIN_TOKEN": "token"])
        let path = try await stored(server)
        #expect(try Client(server.port).get(path)?.status == 200)
        func purge() throws -> Int? {
            let fields = "Host: 127.0.0.1\r\nAuthorization: Bearer token\r\n"
            return try Client(server.adminPort()).ask("PURGE \(path) HTTP/1.1\r\n\(fields)\r\n")?.status
        }
        #expect(try purge() == 200)
        #expect(try purge() == 404)
        #expect(try Client(server.port).get(path)?.status == 404)
        // Clients are not told that anything is purged.
        let asked = try Client(server.port).ask("PURGE \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(asked?.status == 405 && asked?["Allow"] == "GET, HEAD")
    }

    @Test func `a client fetches a new version through the service by transferring only the changed blocks`()
        async throws
    {
        let work = try TestDirectory()
        let nginx = try await Nginx()
        var bytes = [UInt8](repeating: 0, count: Int(Self.size))
        var random = SeededGenerator(seed: 5)
        for place in bytes.indices { bytes[place] = UInt8(truncatingIfNeeded: random.next()) }
        let old = bytes
        bytes.insert(7, at: 0)
        for place in [1_000_000, 5_000_000] { bytes[place] ^= 0xFF }
        try Data(bytes).write(to: URL(fileURLWithPath: "\(nginx.root)/image.bin"))
        try Data(old).write(to: URL(fileURLWithPath: work.path("older.bin")))
        let server = try await ServerProcess(origin: nginx.url(""), "--zsync")
        _ = try await stored(server, "/image.bin")

        let command = try ChildProcess(
            CommandRunner.built("imgcache"),
            [
                "fetch", "--json", "--cache-dir", work.path("cache"), "--zsync", "auto", "--seed",
                work.path("older.bin"),
                "-o", work.path("image.bin"), "http://127.0.0.1:\(server.port)/image.bin",
            ], environment: ["HOME": work.path])
        #expect(await command.end() == .exited(0), "\(command.errorOutput)")
        #expect(FileManager.default.contents(atPath: work.path("image.bin")) == Data(bytes))
        let report = try #require(
            try JSONSerialization.jsonObject(with: Data(command.output.utf8)) as? [String: Any])
        #expect((report["bytes_transferred"] as? Int).map { $0 < 40_000 } == true, "\(command.output)")
    }
}
