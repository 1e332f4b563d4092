import Foundation
import TestSupport
import Testing

/// The exit codes that README and `imgcache fetch --help` promise.
@Suite(.fewAtATime) struct ExitCodeTests {
    private let work: TestWorkspace
    private let origin: ScriptedOrigin

    init() throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin { request in
            switch request.path {
            case "/missing": .status(404)
            case "/broken": .status(500)
            case "/cut": Behaviour(Representation(seed: 1, size: 400_000)).with { $0.cutAfter = 1000 }
            case "/short":
                Behaviour(Representation(seed: 1, size: 4000)).with { $0.framing = .lyingContentLength(by: 10) }
            case "/large": Behaviour(Representation(seed: 1, size: 2_000_000))
            default: Behaviour(Representation(seed: 1, size: 4000))
            }
        }
    }

    @Test func `a successful fetch exits with 0 and prints the path of the cached file`() async throws {
        let outcome = try await work.fetch(origin.url("/a"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.lines.count == 1)
        #expect(outcome.errorOutput.isEmpty)
        #expect(Content(seed: 1, size: 4000).equalsFile(at: outcome.lines.first ?? ""))
    }

    @Test(arguments: [
        ["fetch"], ["fetch", "--no-such-option", "http://127.0.0.1/"], ["fetch", "-o", "a", "http://a/", "http://b/"],
        ["fetch", "--capacity", "many", "http://127.0.0.1/"], ["fetch", "ftp://127.0.0.1/a"],
        ["fetch", "file:///etc/passwd"], ["fetch", "not a url"], ["fetch", "--sha256", "abc", "http://127.0.0.1/"],
        ["fetch", "-i", "/nonexistent/list"], ["no-such-command"], ["fetch", "-o", "", "http://127.0.0.1/"],
        ["fetch", "-d", "", "http://127.0.0.1/"], ["fetch", "-d", "/dev/null", "http://127.0.0.1/"], ["fetch", ""],
    ])
    func `a wrong command line causes exit code 2`(arguments: [String]) async throws {
        let outcome = try await work.command.run(arguments)
        #expect(outcome.ending == .exited(2), "\(outcome)")
        #expect(!outcome.errorOutput.isEmpty)
        #expect(outcome.lines.isEmpty)
    }

    @Test func `a refused connection causes exit code 3`() async throws {
        let stopped = try ScriptedOrigin(serving: Representation(seed: 1, size: 1))
        let url = stopped.url()
        stopped.stop()
        let outcome = try await work.fetch("--retry", "0", url)
        #expect(outcome.ending == .exited(3), "\(outcome)")
        #expect(outcome.errorOutput.contains(url))
    }

    @Test func `a host name that does not resolve causes exit code 3`() async throws {
        let outcome = try await work.fetch("--retry", "0", "http://no-such-host.invalid/a")
        #expect(outcome.ending == .exited(3), "\(outcome)")
        #expect(outcome.errorOutput.contains("no-such-host.invalid"))
    }

    @Test func `a cut transfer without retries left causes exit code 3`() async throws {
        let outcome = try await work.fetch("--retry", "0", origin.url("/cut"))
        #expect(outcome.ending == .exited(3), "\(outcome)")
        #expect(outcome.lines.isEmpty)
    }

    @Test(arguments: [("/missing", 404), ("/broken", 500)])
    func `an error status causes exit code 4, and its page is not taken for the file`(
        path: String, status: Int
    ) async throws {
        let (outcome, answer) = try await work.fetchJSON("--retry", "0", origin.url(path))
        #expect(outcome.ending == .exited(4), "\(outcome)")
        #expect(answer.status == status)
        #expect(answer.path == nil)
        #expect(outcome.errorOutput.contains("\(status)"))
        #expect(try await work.run("path", origin.url(path)).ending != .exited(0))
    }

    @Test func `a wrong SHA-256 causes exit code 5, and nothing is stored`() async throws {
        let wrong = String(repeating: "0", count: 64)
        let outcome = try await work.fetch("--sha256", wrong, origin.url("/a"))
        #expect(outcome.ending == .exited(5), "\(outcome)")
        #expect(outcome.lines.isEmpty)
        #expect(try await work.fetch("--offline", origin.url("/a")).ending == .exited(7))
    }

    @Test func `a body larger than the store causes exit code 6`() async throws {
        let outcome = try await work.fetch("--capacity", "1MiB", origin.url("/large"))
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(outcome.errorOutput.contains(origin.url("/large")))
    }

    @Test func `a cache directory that cannot be made causes exit code 6`() async throws {
        let file = try work.directory.write("", to: "file")
        let outcome = try await work.fetch("--cache-dir", file + "/cache", origin.url("/a"))
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(outcome.errorOutput.contains(file))
        #expect(origin.requests.isEmpty)
    }

    @Test(arguments: [
        ["fetch", "URL"], ["fetch", "--json", "URL"], ["fetch", "-o", "-", "URL"], ["ls"], ["info", "URL"],
        ["thumb", "--help"],
    ])
    func `standard output that cannot be written causes exit code 6`(arguments: [String]) async throws {
        _ = try await work.fetch(origin.url("/a"))
        let words = arguments.map { $0 == "URL" ? origin.url("/a") : $0 }.joined(separator: " ")
        for redirection in [">/dev/full", ">&-"] {
            let outcome = try await work.command.shell("\"$IMGCACHE\" \(words) \(redirection)")
            #expect(outcome.ending == .exited(6), "\(redirection): \(outcome)")
            #expect(outcome.errorOutput.split(separator: "\n").count == 1, "\(redirection): \(outcome)")
            #expect(outcome.errorOutput.contains("standard output"), "\(redirection): \(outcome)")
        }
        try await work.expectSoundStore()
    }

    @Test(arguments: [["ls"], ["fetch", "URL"], ["fetch", "-o", "-", "URL"], ["--help"]])
    func `a closed pipe on standard output causes exit code 141, without a message`(arguments: [String]) async throws {
        _ = try await work.fetch(origin.url("/a"))
        let words = arguments.map { $0 == "URL" ? origin.url("/a") : $0 }.joined(separator: " ")
        // `wait` sees to it that the reader is gone before the first byte.
        let outcome = try await work.command.shell(
            "mkfifo p; true <p & exec 3>p; wait; \"$IMGCACHE\" \(words) >&3; echo $?")
        #expect(outcome.lines == ["141"], "\(outcome)")
        #expect(outcome.errorOutput.isEmpty, "\(outcome)")
    }

    @Test(arguments: [
        (["-o", "no/x"], "no/x: the directory no does not exist"),
        (["-d", "no/x"], "no/x: the directory no does not exist"),
        (["-o", "/dev/null/x"], "/dev/null/x: /dev/null is not a directory"),
    ])
    func `an unusable target causes exit code 6 before a request to the origin`(
        arguments: [String], message: String
    ) async throws {
        let outcome = try await work.command.run(["fetch"] + arguments + [origin.url("/a")])
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(outcome.errorOutput == "imgcache: \(message)\n")
        #expect(origin.requests.isEmpty)
    }

    @Test func `an offline fetch of a file that is not cached exits with 7`() async throws {
        let outcome = try await work.fetch("--offline", origin.url("/a"))
        #expect(outcome.ending == .exited(7), "\(outcome)")
        #expect(origin.requests.isEmpty)
    }

    @Test func `with several URLs, all are tried, and the first failure decides the exit code`() async throws {
        let urls = ["/a", "/missing", "/cut", "/b"].map { origin.url($0) }
        let outcome = try await work.command.run(["fetch", "--retry", "0"] + urls)
        #expect(outcome.ending == .exited(4), "\(outcome)")
        #expect(outcome.lines.count == 2)
        #expect(Set(origin.requests.map(\.request.path)) == ["/a", "/missing", "/cut", "/b"])
        let reversed = try await work.command.run(["fetch", "--retry", "0"] + urls.reversed())
        #expect(reversed.ending == .exited(3), "\(reversed)")
    }
}
