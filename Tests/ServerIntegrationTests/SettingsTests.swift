import Foundation
import ImageCache
import TestSupport
import Testing

@Suite(.fewAtATime) struct SettingsTests {
    private func run(
        _ arguments: String..., file: String? = nil, environment: [String: String] = [:]
    ) async throws -> CommandRunner.Outcome {
        try await run(arguments, file: file, environment: environment)
    }

    private func run(
        _ arguments: [String], file: String?, environment: [String: String] = [:]
    ) async throws -> CommandRunner.Outcome {
        let directory = try TestDirectory()
        var arguments = arguments
        if let file { arguments += ["--config", try directory.write(file, to: "server.json")] }
        var variables = ["HOME": directory.path, "PATH": "/usr/bin:/bin"]
        variables.merge(environment) { $1 }
        return await CommandRunner.outcome(
            of: try ChildProcess(ServerProcess.executable, arguments, environment: variables))
    }

    @Test
    func `the command line overrides the environment, which overrides the file, and secrets are not printed`()
        async throws
    {
        let outcome = try await run(
            "--print-config", "--max-requests=3", "--widths", "100", "--widths", "200",
            file: """
                {"origin": "https://user:word@images.example/base", "max-requests": 1, "queue-length": 1,
                 "retry-after": 9, "forwarded": true, "widths": [64], "capacity": "1500MB", "admin-token": "hidden"}
                """, environment: ["IMGCACHE_MAX_REQUESTS": "2", "IMGCACHE_QUEUE_LENGTH": "2"])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let shown = try #require(
            try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: any Sendable])
        #expect(shown["max-requests"] as? Int == 3)
        #expect(shown["queue-length"] as? Int == 2)
        #expect(shown["retry-after"] as? Int == 9)
        #expect(shown["forwarded"] as? Bool == true)
        #expect(shown["widths"] as? [String] == ["100", "200"])
        #expect(shown["capacity"] as? String == "1500000000")
        #expect(shown["origin"] as? String == "https://images.example/base")
        #expect(shown["admin-token"] == nil)
        #expect(!outcome.output.contains("hidden") && !outcome.output.contains("word@"))
    }

    @Test func `--check prints nothing for valid settings, also from a file with comments and trailing commas`()
        async throws
    {
        let file = "{\n  // where\n  \"origin\": \"http://a\", /* once */\n}\n"
        let right = try await run("--check", file: file)
        #expect(right.ending == .exited(0) && right.output.isEmpty && right.errorOutput.isEmpty, "\(right)")
        let wrong = try await run("--check", "--max-requests", "many", file: file)
        #expect(wrong.ending == .exited(2) && wrong.errorOutput.contains("max-requests \"many\""), "\(wrong)")
    }

    @Test(arguments: [
        (#""presets": {"card": "w=auto"}"#, "presets"), (#""url-style-keys": "/dev/null""#, "url-style"),
        (#""admin-token": "a", "admin-token-file": "b""#, "admin-token"),
        (#""origins": {"a": {"match": "/a/", "url": "file:///does/not/exist"}}"#, "cannot be used"),
        (#""signing-key-files": "/dev/null""#, "signing-key-files"),
    ])
    func `--check finds the mistakes with which a start would end`(settings: String, word: String) async throws {
        for arguments in [["--check"], ["--listen", "127.0.0.1:0", "--admin", "off"]] {
            let outcome = try await run(arguments, file: "{\"origin\": \"http://a\", \(settings)}")
            #expect(outcome.ending == .exited(2) && outcome.errorOutput.contains(word), "\(outcome)")
        }
    }

    @Test func `the settings for Kubernetes, and the rules of lifetimes on the page, are read without an error`()
        async throws
    {
        var root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        for _ in 0..<3 { root = root.deletingLastPathComponent() }
        func text(_ path: String) throws -> String {
            try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        }
        let manifest = try text("scripts/dist/kubernetes.yaml")
        let page = try text("Sources/ImageProxy/ImageProxy.docc/Serving.md")
        let settings = try #require(manifest.firstMatch(of: /imgcache.json: \|\n(?<json>( {4}.*\n)+)/)).output.json
        let rules = try #require(page.firstMatch(of: /```json\n(?<json>\{"ttl-rules"(.*\n)+?)```/)).output.json
        for file in [String(settings), String(rules)] {
            let outcome = try await run("--check", "--origin", "http://a", file: file)
            #expect(outcome.ending == .exited(0) && outcome.errorOutput.isEmpty, "\(outcome)")
        }
    }

    @Test(arguments: [
        ("/news", "max-ttl=1m", "nothing"), ("404 news", "max-ttl=1m", "must be a status"),
        ("/news/*", "ttl=1m", "must consist of"), ("404", "default-ttl=soon", "must be a duration"),
        ("404", "", "has no lifetime"),
    ])
    func `an error in ttl-rules names the pattern`(pattern: String, lifetimes: String, problem: String) async throws {
        let file = "{\"origin\": \"http://a\", \"ttl-rules\": {\"\(pattern)\": \"\(lifetimes)\"}}"
        let outcome = try await run("--check", file: file)
        if problem == "nothing" {
            #expect(outcome.ending == .exited(0), "\(outcome)")
        } else {
            #expect(outcome.ending == .exited(2), "\(outcome)")
            #expect(
                outcome.errorOutput.contains("\"\(pattern)\"") && outcome.errorOutput.contains(problem), "\(outcome)")
        }
    }

    @Test func `an error names file, key and value, and ends with 2 before anything listens`() async throws {
        let origin = #""origin": "http://a""#
        for (file, parts) in [
            (
                #"{\#(origin), "max-requests": "many"}"#,
                ["server.json", "max-requests", "\"many\"", "must be an integer"]
            ),
            (#"{\#(origin), "max-requests": 0}"#, ["server.json", "max-requests", "\"0\""]),
            (#"{\#(origin), "listen": "8080"}"#, ["server.json", "listen", "\"8080\"", "HOST:PORT"]),
            (#"{\#(origin), "max_requests": 3}"#, ["server.json", "max_requests", "did you mean \"max-requests\""]),
            (#"{\#(origin), "widths": [1, 0]}"#, ["server.json", "widths", "\"0\""]),
            (#"{\#(origin), "capacity": "a lot"}"#, ["server.json", "capacity", "\"a lot\"", "number of bytes"]),
            (#"{\#(origin), "idle-timeout": "-1s"}"#, ["server.json", "idle-timeout", "\"-1s\""]),
            (#"{\#(origin), "queue-length": {"a": 1}}"#, ["server.json", "queue-length"]),
            (
                #"{\#(origin), "signing-key-files": ["/nowhere/key"]}"#,
                ["server.json", "signing-key-files", "/nowhere/key"]
            ),
            (#"{\#(origin), "max-requests": 1.5}"#, ["server.json", "max-requests", "\"1.5\""]),
            (#"{\#(origin), "widths": [1, "a"]}"#, ["server.json", "widths", "\"a\""]),
            (#"{\#(origin), "widths": [1, [2]]}"#, ["server.json", "widths", "list"]),
            (#"{"origin": "ftp://a"}"#, ["server.json", "origin", "\"ftp://a\""]),
            (#"{"origin": "http://a?b"}"#, ["server.json", "origin", "query"]),
            (#"{"listen": "127.0.0.1:0"}"#, ["origin", "is missing"]),
            (#"{"origin": "#, ["server.json", "line 1, column 12: the text ends too early"]),
            ("{\n  // a comment\n  \"origin\" }", ["server.json", "line 3, column 12: '}' is not expected here"]),
            ("[]", ["server.json", "is not a JSON object"]),
        ] {
            let outcome = try await run(file: file)
            #expect(outcome.ending == .exited(2), "\(file): \(outcome)")
            for part in parts { #expect(outcome.errorOutput.contains(part), "\(file): \(outcome.errorOutput)") }
            #expect(!outcome.errorOutput.contains("listening"))
        }
    }

    @Test func `an invalid option or environment variable is reported under its own name`() async throws {
        let option = try await run("--origin", "http://a", "--retry-after", "soon")
        #expect(option.ending == .exited(2))
        #expect(option.errorOutput.contains("--retry-after \"soon\""), "\(option)")
        let unknown = try await run("--origin", "http://a", "--retry")
        #expect(unknown.ending == .exited(2))
        #expect(unknown.errorOutput.contains("did you mean \"retry-after\""), "\(unknown)")
        let variable = try await run("--origin", "http://a", environment: ["IMGCACHE_LOG_LEVEL": "loud"])
        #expect(variable.ending == .exited(2))
        #expect(variable.errorOutput.contains("IMGCACHE_LOG_LEVEL \"loud\""), "\(variable)")
        let secret = try await run("--origin", "http://a", "--admin-token", "")
        #expect(secret.ending == .exited(2))
        let missing = try await run("--origin", "http://a", "--config", "/nowhere/server.json")
        #expect(missing.ending == .exited(2))
        #expect(missing.errorOutput.contains("/nowhere/server.json"), "\(missing)")
    }

    @Test
    func
        `a taken address or an unusable cache folder causes exit code 1, so that a supervisor tries again`()
        async throws
    {
        let origin = try ScriptedOrigin { _ in [] }
        let directory = try TestDirectory()
        let taken = try await run(
            "--origin", "http://a", "--listen", "127.0.0.1:\(origin.port)", "--admin", "off", "--cache-dir",
            directory.path("c"))
        #expect(taken.ending == .exited(1), "\(taken)")
        let message = "listen \"127.0.0.1:\(origin.port)\": cannot listen: Address already in use\n"
        #expect(taken.errorOutput.contains(message), "\(taken)")
        let folder = try await run(
            "--origin", "http://a", "--listen", "127.0.0.1:0", "--admin", "off", "--cache-dir", "/dev/null/c")
        #expect(folder.ending == .exited(1), "\(folder)")
        #expect(folder.errorOutput.contains("cache-dir \"/dev/null/c\""), "\(folder)")
    }

    @Test
    func `a store that a newer version made causes exit code 6, unless it may be emptied`()
        async throws
    {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 100))
        let directory = try TestDirectory()
        let path = directory.path("cache")
        await (try DownloadCache(directory: path)).close()
        // The version in the header (https://www.sqlite.org/fileformat.html section 1.3).
        let index = try FileHandle(forUpdating: URL(filePath: path + "/index.sqlite"))
        try index.seek(toOffset: 60)
        try index.write(contentsOf: Data([0, 0, 0, 99]))
        try index.close()
        let outcome = try await run(
            "--origin", origin.url(""), "--listen", "127.0.0.1:0", "--admin", "off", "--cache-dir", path)
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(outcome.errorOutput.contains("\(path): made by a newer imgcache"), "\(outcome)")
        #expect(outcome.errorOutput.contains("--discard-newer"), "\(outcome)")
        #expect(!DiskUsage.files(at: path).contains { $0.contains("aside") })
        let server = try await ServerProcess(
            origin: origin.url(""), "--cache-dir", path, "--discard-newer", directory: directory)
        #expect(try Client(server.port).get("/a")?.status == 200)
    }

    @Test func `the help names every setting`() async throws {
        let outcome = try await run("--help")
        #expect(outcome.ending == .exited(0))
        for name in ["--origin URL", "--listen HOST:PORT", "--max-requests N", "--forwarded", "--print-config"] {
            #expect(outcome.output.contains(name), "\(name)")
        }
    }

    @Test func `no log contains a secret, even at the level trace`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 100))
        let server = try await ServerProcess(
            origin: "http://user:hunter2@127.0.0.1:\(origin.port)", "--log-level", "trace", "--admin-token",
            "a secret token", environment: ["IMGCACHE_LOG_LEVEL": "trace"])
        #expect(try Client(server.port).get("/a")?.status == 200)
        server.process.send(signal: SIGHUP)
        #expect(await server.process.says("configuration reloaded"))
        await server.stop()
        let said = server.process.errorOutput + server.process.output
        #expect(!said.contains("hunter2") && !said.contains("secret token"), "\(said)")
    }
}
