import Foundation
import TestSupport
import Testing

/// No path is printed that is not there when the command ends; and the store keeps to the capacity that it was given once.
@Suite(.fewAtATime(limit: .seconds(180))) struct DeliveredPathTests {
    private let work: TestWorkspace
    private let origin: ScriptedOrigin
    private let gate = Gate()
    private let secondGate = Gate()

    init() throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin { [gate, secondGate] request in
            // "/SIZE/name"
            let parts = request.path.split(separator: "/")
            let size = parts.first.flatMap { Int64($0) } ?? 0
            return Behaviour(Representation(seed: UInt64(size), size: size, cacheControl: "max-age=3600")).with {
                if parts.last == "held" { $0.gate = gate }
                if parts.last == "held-too" { $0.gate = secondGate }
                if parts.last == "begun" { $0.bodyGate = (1000, gate) }
            }
        }
    }

    private func list(_ paths: [String]) throws -> String {
        try work.directory.write(paths.map { origin.url($0) }.joined(separator: "\n"), to: "list")
    }

    private func isThere(_ path: Substring) -> Bool { FileManager.default.fileExists(atPath: String(path)) }

    @Test(arguments: [20_000, 400_000])
    func `more files than the store can hold cause exit code 6, and each printed path exists`(size: Int) async throws {
        let count = 12_000_000 / size
        let list = try list((0..<count).map { "/\(size)/\($0)" })
        let outcome = try await work.fetch("--capacity", "4MiB", "-i", list)
        #expect(outcome.ending == .exited(6), "\(outcome)")
        let lines = outcome.allLines
        #expect(lines.count == count)
        let paths = lines.filter { !$0.isEmpty }
        #expect(paths.count * size > 2_000_000)
        #expect(paths.allSatisfy(isThere))
        let sentences = outcome.errorOutput.split(separator: "\n")
        #expect(sentences.count == 2, "\(outcome)")
        #expect(sentences.first?.contains("4.00 MiB") == true && sentences.first?.contains("--capacity") == true)
        #expect(sentences.last?.contains("\(count - paths.count - 1) more") == true, "\(outcome)")
        #expect(DiskUsage.bytes(at: work.cache) <= 4 << 20)
    }

    @Test func `a body that the store cannot hold is refused at its head`() async throws {
        let outcome = try await work.fetch("--capacity", "4MiB", origin.url("/5000000/begun"))
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(origin.bodyBytesSent == 1000)
    }

    @Test func `a stored file is not evicted for one that the store cannot hold`() async throws {
        let stored = try await work.fetch("--capacity", "8MiB", origin.url("/1000000/old"))
        let outcome = try await work.fetch(
            "-j", "1", origin.url("/4000000/a"), origin.url("/5000000/b"), origin.url("/1000000/c"))
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(outcome.allLines.map(\.isEmpty) == [false, true, false])
        #expect(outcome.allLines.filter { !$0.isEmpty }.allSatisfy(isThere))
        #expect(stored.allLines.allSatisfy(isThere))
    }

    @Test func `a printed path stays valid during the run, whatever others evict, replace or remove`() async throws {
        let urls = (0..<8).map { "/200000/\($0)" } + ["/200000/held"]
        // One that was there before, and not by this run.
        #expect(try await work.fetch("--capacity", "6MiB", origin.url("/200000/0")).ending == .exited(0))
        let process = try work.command.start(["fetch", "-j", "1", "-i", try list(urls)])
        #expect(await origin.waits { $0.contains { $0.request.path == "/200000/held" } })
        #expect(await eventually { process.output.split(separator: "\n").count == 8 })
        let printed = process.output.split(separator: "\n")
        for number in 0..<30 { _ = try await work.fetch("-o", "/dev/null", origin.url("/500000/other\(number)")) }
        _ = try await work.fetch("--refresh", origin.url("/200000/1"))
        _ = try await work.run("rm", origin.url("/200000/2"))
        _ = try await work.run("prune", "--to", "0")
        #expect(printed.allSatisfy(isThere))
        gate.open()
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.lines.count == 9)
        // And nothing holds them any more.
        _ = try await work.run("prune", "--to", "0")
        #expect(DiskUsage.files(at: work.cache + "/bodies").isEmpty)
    }

    @Test func `a killed run does not keep its files from eviction`() async throws {
        let process = try work.command.start([
            "fetch", "--capacity", "4MiB", "-j", "1", origin.url("/2000000/a"), origin.url("/1000/held"),
        ])
        #expect(await origin.waits { $0.count == 2 })
        process.send(signal: SIGKILL)
        _ = await process.end()
        let outcome = try await work.fetch(origin.url("/2500000/b"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(DiskUsage.files(at: work.cache + "/bodies").count == 1)
    }

    // MARK: The capacity

    @Test func `a run without --capacity keeps the former one, and a smaller one reports what it evicts`() async throws
    {
        let list = try list((0..<10).map { "/400000/\($0)" })
        #expect(try await work.fetch("--capacity", "12MiB", "-i", list).ending == .exited(0))
        let small = try await work.fetch(origin.url("/23/small"))
        #expect(small.errorOutput.isEmpty, "\(small)")
        #expect(try await work.run("ls").lines.count == 11)
        // A command that only reads changes nothing.
        _ = try await work.run("stats", "--capacity", "2MiB")
        #expect(try await work.run("stats", "--json").objects.first?["capacity"] as? Int == 12 << 20)

        let smaller = try await work.fetch("--capacity", "4MiB", origin.url("/23/other"))
        #expect(smaller.ending == .exited(0))
        let left = try await work.run("ls").lines.count - 1
        #expect(smaller.errorOutput.contains("evicted \(11 - left) entries"), "\(smaller)")
        #expect(smaller.errorOutput.contains("4.00 MiB now and was 12.0 MiB"), "\(smaller)")
        #expect(try await work.fetch(origin.url("/23/third")).errorOutput.isEmpty)
        #expect(try await work.run("stats", "--json").objects.first?["capacity"] as? Int == 4 << 20)
    }

    @Test func `IMGCACHE_CAPACITY is the capacity of commands without the option`() async throws {
        var command = work.command
        command.environment["IMGCACHE_CAPACITY"] = "3MiB"
        #expect(try await command.run(["fetch", origin.url("/1000/a")]).ending == .exited(0))
        #expect(try await work.run("stats", "--json").objects.first?["capacity"] as? Int == 3 << 20)
        #expect(try await command.run(["fetch", "--capacity", "5MiB", origin.url("/1000/a")]).ending == .exited(0))
        #expect(try await work.run("stats", "--json").objects.first?["capacity"] as? Int == 5 << 20)
    }

    @Test(arguments: [("IMGCACHE_CAPACITY", "--capacity", "5MiB"), ("IMGCACHE_LINK_MODE", "--link-mode", "copy")])
    func `a wrong variable is the same error for each command, also for a hit, unless its option is given`(
        variable: String, option: String, value: String
    ) async throws {
        let url = origin.url("/1000/a")
        #expect(try await work.fetch(url).ending == .exited(0))
        var command = work.command
        command.environment[variable] = "much"
        for arguments in [
            ["fetch", url], ["fetch", "-o", "file", url], ["fetch", "-v", url], ["cat", url], ["ls"], ["stats"],
            ["dir"], ["path", url], ["info", url], ["verify"], ["config"], ["doctor"], ["rm", "--dry-run", url],
        ] {
            let wrong = try await command.run(arguments)
            #expect(wrong.ending == .exited(2) && wrong.errorOutput.contains("\(variable) must be"), "\(wrong)")
            #expect(wrong.output.isEmpty, "\(arguments)")
        }
        #expect(try await command.run(["fetch", option, value, "-o", "file", url]).ending == .exited(0))
        #expect(try await command.run(["ls", "--help"]).ending == .exited(0))
    }

    @Test
    func `a directory that is deleted during fetches is never refused afterwards`() async throws {
        let files = (0..<60).map { "/20000/\($0)" }
        for (last, gate) in [("/600000/held", gate), ("/600000/held-too", secondGate)] {
            let fetch = try work.command.start(["fetch", "-i", try list(files + [last])])
            // With the last file held, no deletion follows the check at the end.
            while fetch.ending == nil, !origin.requests.contains(where: { $0.request.path == last }) {
                _ = try await work.command.shell("rm -rf \(work.cache)")
            }
            gate.open()
            let outcome = await CommandRunner.outcome(of: fetch)
            // A printed path that was deleted is reported.
            if outcome.lines.contains(where: { !isThere($0[...]) }) {
                #expect(outcome.ending == .exited(6), "\(outcome)")
            }
            let next = try await work.fetch(origin.url("/1000" + last))
            #expect(next.ending == .exited(0), "\(next)")
        }
    }
}
