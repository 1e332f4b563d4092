import Foundation
import Glibc
import TestSupport
import Testing

/// `imgcache pin`, `pins` and `unpin`.
@Suite(.serialized, .fewAtATime) struct PinCommandTests {
    private let work: TestWorkspace
    private let origin: ScriptedOrigin

    init() throws {
        work = try TestWorkspace()
        // "/SEED/SIZE", and "/strict/SEED/SIZE", which must not be served stale; any other path is not there.
        origin = try ScriptedOrigin { request in
            let parts = request.path.split(separator: "/").compactMap { UInt64($0) }
            guard parts.count == 2 else {
                return [.head(status: 404, fields: [("Content-Length", "0"), ("Date", httpDate(Date()))])]
            }
            return Behaviour(Representation(seed: parts[0], size: Int64(parts[1]))).with {
                $0.bytesPerSecond = 20_000_000
                if request.path.hasPrefix("/strict") { $0.fields = [("Cache-Control", "max-age=0, must-revalidate")] }
            }.script(for: request)
        }
    }

    private func urls(_ count: Int, size: Int = 200_000) -> [String] {
        (1...count).map { origin.url("/\($0)/\(size)") }
    }

    private func pin(_ name: String, _ arguments: [String]) async throws -> CommandRunner.Outcome {
        try await work.command.run(["pin", name, "--retry", "0"] + arguments)
    }

    @Test func `a pinned set survives eviction, prune and clear until it is unpinned`() async throws {
        let outcome = try await pin("trip", ["--json", "--capacity", "8MiB"] + urls(10))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.lines == [#"{"bytes":2000000,"failed":[],"name":"trip","present":10,"total":10}"#])
        for number in 100..<140 { _ = try await work.fetch(origin.url("/\(number)/300000")) }
        _ = try await work.run("prune", "--to", "0")
        _ = try await work.run("clear")
        let listed = try await work.run("pins", "--json")
        #expect(listed.lines == outcome.lines)
        let stats = try #require(try await work.run("stats", "--json").objects.first)
        #expect((stats["pinned_bytes"] as? Int ?? 0) >= 2_000_000)
        let requests = origin.requests.count
        for url in urls(10) { #expect(try await work.fetch("--offline", url).ending == .exited(0)) }
        #expect(origin.requests.count == requests)
        #expect(try await work.run("unpin", "trip").ending == .exited(0))
        #expect(try await work.run("unpin", "trip").ending == .exited(7))
        _ = try await work.run("prune", "--to", "0")
        #expect(try await work.fetch("--offline", urls(1)[0]).ending == .exited(7))
    }

    @Test(arguments: [["--offline"], ["--prefer-cached", "--proxy", "http://127.0.0.1:9"]])
    func `an incomplete set is not resumed offline, nor past the proxy of the run`(options: [String]) async throws {
        let stored = urls(1)[0]
        _ = try await work.fetch(stored)
        #expect(try await pin("trip", [origin.url("/none")]).ending == .exited(4))
        let requests = origin.requests.count
        let outcome = try await work.command.shell(
            "(echo '\(stored)'; sleep 1; echo '\(stored)') | \"$IMGCACHE\" fetch \(options.joined(separator: " ")) -i -"
        )
        #expect(outcome.lines.count == 2, "\(outcome)")
        #expect(origin.requests.count == requests)
    }

    @Test func `a failed file of a set is reported with its reason and tried again`() async throws {
        let outcome = try await pin("trip", ["--json", origin.url("/none")] + urls(2))
        #expect(outcome.ending == .exited(4), "\(outcome)")
        let set = try #require(outcome.objects.first)
        #expect(set["present"] as? Int == 2 && set["total"] as? Int == 3)
        let failed = try #require(set["failed"] as? [[String: any Sendable]])
        #expect(failed.count == 1 && (failed[0]["error"] as? String)?.contains("404") == true)
        #expect(try await pin("trip", []).ending == .exited(4))
        #expect(try await pin("other", []).ending == .exited(7))
    }

    @Test func `a set that does not fit next to other pins is refused with the figures`() async throws {
        #expect(try await pin("one", ["--capacity", "8MiB"] + urls(14, size: 300_000)).ending == .exited(0))
        let outcome = try await pin("other", (50..<80).map { origin.url("/\($0)/300000") })
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(outcome.errorOutput.contains("the set other does not fit, and is not pinned: http://"), "\(outcome)")
        #expect(
            outcome.errorOutput.contains(" needs 300 KiB") && outcome.errorOutput.contains("other pins take 4"),
            "\(outcome)"
        )
        #expect(outcome.errorOutput.split(separator: "\n").count == 1, "\(outcome)")
        let sets = try await work.run("pins", "--json").objects
        #expect(sets.count == 1 && sets[0]["name"] as? String == "one" && sets[0]["present"] as? Int == 14)
        #expect(DiskUsage.bytes(at: work.cache) <= 8 << 20)
    }

    @Test func `a set whose download was killed is resumed by the next command that fetches`() async throws {
        var generator = SeededGenerator(for: "PinCommand")
        for round in 0..<16 {
            let name = "set \(round)"
            let wanted = (0..<12).map { origin.url("/\(round * 100 + $0 + 1)/150000") }
            let process = try work.command.start(["pin", name] + wanted)
            try? await Task.sleep(for: .milliseconds(Int.random(in: 0...250, using: &generator)))
            process.send(signal: SIGKILL)
            _ = await CommandRunner.outcome(of: process)
        }
        let before = try await work.run("pins", "--json").objects
        // A longer fetch gives the pins time; a named one waits for the rest.
        _ = try await work.fetch("--limit-rate", "300KB", origin.url("/9999/600000"))
        for set in before {
            let name = try #require(set["name"] as? String)
            let outcome = try await pin(name, ["--json"])
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(outcome.objects.first?["present"] as? Int == 12)
        }
        for set in before {
            let round = Int((set["name"] as? String ?? "").split(separator: " ").last ?? "") ?? 0
            for number in 0..<12 {
                let seed = round * 100 + number + 1
                let path = try await work.run("path", origin.url("/\(seed)/150000"))
                #expect(Content(seed: UInt64(seed), size: 150_000).equalsFile(at: path.lines.first ?? ""))
            }
        }
        try await work.expectSoundStore()
        try await work.expectNoOrphans()
    }

    @Test func `a list whose sizes exceed the capacity is refused before the first request`() async throws {
        let metalink = work.output("set.meta4")
        let files = (1...3).map {
            "<file name=\"\($0)\"><size>3000000</size><url>\(origin.url("/\($0)/3000000"))</url></file>"
        }
        try Data("<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">\(files.joined())</metalink>".utf8).write(
            to: URL(filePath: metalink))
        let outcome = try await pin("trip", ["--capacity", "8MiB", "-i", metalink])
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(
            outcome.errorOutput.contains("the set trip does not fit, and is not pinned: it takes 8.5")
                && outcome.errorOutput.contains("of the capacity of 8.00 MiB"), "\(outcome)")
        #expect(origin.requests.isEmpty)
        #expect(try await work.run("pins").lines.isEmpty)
        #expect(try await pin("trip", ["--capacity", "32MiB", "-i", metalink]).ending == .exited(0))
    }

    @Test func `a list of URLs is pinned, and served offline as long as the set allows`() async throws {
        let list = work.output("urls.txt")
        let strict = (1...3).map { origin.url("/strict/\($0)/20000") }
        try Data("# trip\n\(strict.joined(separator: "\n"))\n".utf8).write(to: URL(filePath: list))
        #expect(try await pin("trip", ["-i", list, "--max-stale", "30d"]).ending == .exited(0))
        #expect(try await pin("short", [origin.url("/strict/9/1000")]).ending == .exited(0))
        origin.stop()
        for url in strict { #expect(try await work.fetch("--retry", "0", url).ending == .exited(0)) }
        #expect(try await work.fetch("--retry", "0", origin.url("/strict/9/1000")).ending == .exited(3))
    }

    @Test func `--refresh revalidates the files of a pinned set`() async throws {
        #expect(try await pin("trip", urls(3)).ending == .exited(0))
        #expect(try await pin("trip", []).ending == .exited(0))
        #expect(origin.requests.count == 3)
        #expect(try await pin("trip", ["--refresh"]).ending == .exited(0))
        #expect(origin.requests.count == 6)
        #expect(origin.requests.suffix(3).allSatisfy { $0.status == 304 })
    }

    @Test func `prune and clear remove pinned files only with --pinned`() async throws {
        for command in [["prune", "--to", "0"], ["clear"]] {
            #expect(try await pin("trip", urls(3)).ending == .exited(0))
            _ = try await work.command.run(command)
            #expect(try await work.run("pins", "--json").objects.first?["present"] as? Int == 3, "\(command)")
            _ = try await work.command.run(command + ["--pinned"])
            #expect(try await work.run("pins", "--json").objects.first?["present"] as? Int == 0, "\(command)")
        }
        #expect(try await work.run("stats", "--json").objects.first?["pinned_bytes"] as? Int == 0)
    }

    @Test func `bad input names its place and pins nothing`() async throws {
        let outcome = try await pin("trip", ["http://[::1", urls(1)[0]])
        #expect(outcome.ending == .exited(2), "\(outcome)")
        #expect(outcome.errorOutput.contains("http://[::1"))
        let list = work.output("list.txt")
        for text in ["\(urls(1)[0])\n<html>\n", "\(urls(1)[0])\nftp://a/b\n"] {
            try Data(text.utf8).write(to: URL(filePath: list))
            let outcome = try await pin("trip", ["-i", list])
            #expect(outcome.ending == .exited(2), "\(outcome)")
            #expect(outcome.errorOutput.contains("\(list):2: "), "\(outcome)")
            #expect(outcome.errorOutput.split(separator: "\n").count == 1, "\(outcome)")
        }
        #expect(try await work.run("pins").lines.isEmpty && origin.requests.isEmpty)
    }
}
