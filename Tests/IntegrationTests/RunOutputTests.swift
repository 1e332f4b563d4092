import Foundation
import Glibc
import ImageCache
import TestSupport
import Testing

/// The output of `fetch` and `thumb` for several URLs.
@Suite(.fewAtATime) struct RunOutputTests {
    private let work: TestWorkspace
    private let origin: ScriptedOrigin
    private let gate = Gate()

    init() throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin { [gate] request in
            switch request.path {
            case "/missing": .status(404)
            case "/held": Behaviour(Representation(seed: 1, size: 4000)).with { $0.gate = gate }
            default: Behaviour(Representation(seed: 1, size: 4000))
            }
        }
    }

    @Test func `plain output has one line a URL in the order given, empty for one that failed`() async throws {
        let urls = ["/a", "/missing", "/b", "/missing?2", "/c"].map { origin.url($0) }
        let outcome = try await work.command.run(["fetch", "--retry", "0"] + urls)
        #expect(outcome.ending == .exited(4), "\(outcome)")
        #expect(outcome.allLines.map(\.isEmpty) == [false, true, false, true, false])
        let folder = try await work.command.run(["fetch", "--retry", "0", "-d", "out"] + urls)
        #expect(folder.output == "out/a\n\nout/b\n\nout/c\n", "\(folder)")
        let file = try await work.fetch("--retry", "0", "-o", "-", urls[1])
        #expect(file.outputBytes.isEmpty)
    }

    @Test func `--json writes each object as soon as its download ends`() async throws {
        let urls = ["/held", "/a", "/b"].map { origin.url($0) }
        let process = try work.command.start(["fetch", "--json"] + urls)
        while process.output.split(separator: "\n").count < 2, process.ending == nil {
            try await Task.sleep(for: .milliseconds(2))
        }
        process.send(signal: SIGKILL)
        let outcome = await CommandRunner.outcome(of: process)
        #expect(Set(outcome.objects.compactMap { $0["url"] as? String }) == [origin.url("/a"), origin.url("/b")])
    }

    @Test func `--json --ordered keeps the order given`() async throws {
        let urls = ["/held", "/a", "/b"].map { origin.url($0) }
        let process = try work.command.start(["fetch", "--json", "--ordered"] + urls)
        #expect(await origin.waits { $0.count == 3 && $0.filter { $0.ending == .completed }.count == 2 })
        #expect(process.output.isEmpty)
        gate.open()
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.objects.compactMap { $0["url"] as? String } == urls)
    }

    @Test func `--json reports the kind of an error and its exit code`() async throws {
        try work.directory.write("mine", to: "output/a")
        func object(_ arguments: String...) async throws -> (kind: String?, code: Int?) {
            let outcome = try await work.command.run(["fetch", "--json", "--retry", "0"] + arguments)
            let object = outcome.objects.first
            #expect(outcome.ending == .exited(Int32(object?["exit_code"] as? Int ?? -1)), "\(outcome)")
            return (object?["kind"] as? String, object?["exit_code"] as? Int)
        }
        #expect(try await object(origin.url("/a")) == (nil, 0))
        #expect(try await object(origin.url("/missing")) == ("status", 4))
        #expect(try await object("-O", origin.url("/a")) == ("exists", 6))
        #expect(try await object("--offline", origin.url("/new")) == ("not-cached", 7))
        #expect(try await object("--sha256", String(repeating: "0", count: 64), origin.url("/b")) == ("wrong-bytes", 5))
        #expect(try await object("--max-filesize", "10", origin.url("/c")) == ("too-large", 6))
        #expect(try await object("ftp://127.0.0.1/") == ("invalid-request", 2))
        #expect(try await object("http://127.0.0.1:1/") == ("unreachable", 3))
    }

    @Test(arguments: [
        ["fetch", "--capacity", "1GB", "--capacity=2GB", "URL"], ["fetch", "-o", "a", "--output", "b", "URL"],
        ["fetch", "-qo", "a", "-o", "b", "URL"], ["thumb", "--size", "10", "-o", "a", "--size", "20", "URL"],
        ["ls", "--sort", "age", "--sort", "size"], ["prune", "--to", "1", "--to", "2"],
        ["fetch", "--cache-dir", "a", "--cache-dir", "b", "URL"], ["fetch", "--retry", "1", "URL", "--retry", "1"],
    ])
    func `an option of one value that is given twice is an error`(arguments: [String]) async throws {
        let outcome = try await work.command.run(arguments.map { $0 == "URL" ? origin.url("/a") : $0 })
        #expect(outcome.ending == .exited(2), "\(outcome)")
        #expect(outcome.errorOutput.contains("is specified more than once"), "\(outcome)")
        #expect(origin.requests.isEmpty)
    }

    @Test func `an option for several values may be given twice`() async throws {
        let outcome = try await work.fetch("-H", "A: 1", "-H", "B: 2", "-q", "-q", origin.url("/a"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(origin.requests.first?["A"] == "1" && origin.requests.first?["B"] == "2")
    }

    @Test func `a prefetch reports the failed requests and their reasons`() async throws {
        let cache = try DownloadCache(directory: work.cache)
        let urls = ["/a", "/missing", "/b"].map { FileRequest(origin.url($0)) }
        let prefetch = cache.prefetch(urls)
        await prefetch.finish()
        #expect(prefetch.counts.loaded == 2)
        #expect(prefetch.failures.map(\.index) == [1])
        #expect(prefetch.failures.first?.error.code == .status(404))
        #expect(prefetch.failures.first?.error.url == urls[1].url)
        await cache.close()
    }
}
