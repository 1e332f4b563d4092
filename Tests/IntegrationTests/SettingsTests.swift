import Foundation
import TestSupport
import Testing

/// The configuration file of the command.
@Suite(.fewAtATime) struct SettingsTests {
    private let work: TestWorkspace
    private let representation = Representation(seed: 141, size: 5000, cacheControl: "max-age=1000")

    init() throws {
        var work = try TestWorkspace()
        // An empty variable is as none, and would otherwise take precedence.
        work.command.environment["IMGCACHE_DIR"] = ""
        self.work = work
    }

    private func write(_ text: String) throws {
        let folder = work.directory.path(".config/imgcache")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: folder + "/config.json"))
    }

    @Test func `settings apply to every command and the fast path, unless the command line overrides them`()
        async throws
    {
        let origin = try ScriptedOrigin(serving: representation)
        let (first, second) = (work.directory.path("first"), work.directory.path("second"))
        try write(
            """
            {
              "cache-dir": "\(first)",  // a comment
              "user-agent": "configured/1",
              "capacity": "5MiB",
            }
            """)
        for _ in 0..<2 {
            let outcome = try await work.fetch(origin.url("/a"))
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(outcome.output.hasPrefix(first + "/"), "\(outcome)")
        }
        #expect(origin.requests.count == 1)
        #expect(origin.requests.first?["User-Agent"] == "configured/1")
        #expect(try await work.run("dir").lines == [first])
        #expect(try await work.run("ls").lines.count == 1)
        #expect(try await work.run("stats").output.contains("of 5.00 MiB"))
        let named = try await work.fetch("--cache-dir", second, "-A", "named/1", origin.url("/a"))
        #expect(named.output.hasPrefix(second + "/"), "\(named)")
        #expect(origin.requests.last?["User-Agent"] == "named/1")
        var other = work
        other.command.environment["IMGCACHE_DIR"] = second
        #expect(try await other.run("dir").lines == [second])
    }

    @Test func `config shows the settings in force and where they come from`() async throws {
        let none = try await work.run("config")
        #expect(none.ending == .exited(0) && none.output.contains("(does not exist)"), "\(none)")
        try write(#"{"capacity": 5000000, "netrc": true, "ipv6": false, "max-time": 1.5}"#)
        var other = work
        other.command.environment["IMGCACHE_CAPACITY"] = "2GiB"
        let shown = try await other.run("config", "--json")
        let settings = shown.objects.first?["settings"] as? [String: [String: String]]
        #expect(settings?["capacity"] == ["value": "2GiB", "from": "$IMGCACHE_CAPACITY"], "\(shown)")
        #expect(settings?["netrc"]?["value"] == "true")
        #expect(settings?["max-time"]?["value"] == "1.5")
        #expect(settings?["ipv6"] == nil)
    }

    @Test(arguments: [
        (#"{"capacitty": "1GB"}"#, #""capacitty" is not a setting; did you mean "capacity"?"#),
        (#"{"netrc": "yes"}"#, #""netrc" is true or false"#), (#"{"proxy": true}"#, #""proxy" is a text or a number"#),
        (#"{"proxy": ["a"]}"#, #""proxy" is a text, a number, true or false"#), ("[]", "is not a JSON object"),
        ("{\n  \"proxy\": }", "line 2, column 12: '}' is not expected here"),
        ("{\"proxy\": \"a\",\n \"proxy\": \"b\"}", "line 2, column 2: \"proxy\" is specified more than once"),
    ])
    func `an error in the settings file is reported with file and place, and nothing is done`(
        text: String, reason: String
    )
        async throws
    {
        try write(text)
        for command in [["fetch", "http://127.0.0.1:9/"], ["ls"], ["config"]] {
            let outcome = try await work.command.run(command)
            #expect(outcome.ending == .exited(2), "\(outcome)")
            #expect(outcome.errorOutput.contains("/.config/imgcache/config.json: "), "\(outcome)")
            #expect(outcome.errorOutput.contains(reason), "\(outcome)")
        }
    }

    @Test func `help and the version do not depend on the settings file`() async throws {
        try write(#"{"nope": 1}"#)
        for line in [["--version"], ["help", "ls"], ["--generate-completion-script", "bash"], ["fetch", "--help"]] {
            let outcome = try await work.command.run(line)
            #expect(outcome.ending == .exited(0) && !outcome.output.isEmpty, "\(line): \(outcome)")
        }
    }

    @Test func `config shows no password`() async throws {
        try write(#"{"proxy": "http://me:secret@proxy:3128", "cert": "/f.pem:secret"}"#)
        for format in [[], ["--json"]] {
            let outcome = try await work.command.run(["config"] + format)
            #expect(outcome.output.contains("proxy:3128") && outcome.output.contains("/f.pem"), "\(outcome)")
            #expect(!outcome.output.contains("secret"), "\(outcome)")
        }
    }

    @Test func `an invalid value is reported with the settings file as its possible source`() async throws {
        try write(#"{"limit-rate": "fast"}"#)
        let outcome = try await work.fetch("http://127.0.0.1:9/")
        #expect(outcome.ending == .exited(2))
        #expect(outcome.errorOutput.contains("options come also from "), "\(outcome)")
    }
}
