import Foundation
import Glibc
import TestSupport
import Testing

/// Another process on the directory is stopped, inside a transaction or elsewhere, or a foreign process holds the locks. No process waits
/// for it longer than its own time-outs.
@Suite(.fewAtATime) struct StalledProcessTests {
    private let work: TestWorkspace
    private let origin: ScriptedOrigin

    init() throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin { request in
            let number = UInt64(request.path.dropFirst()) ?? 0
            return Behaviour(Representation(seed: number, size: number > 100 ? 700_000 : 20_000))
        }
    }

    private func content(_ number: UInt64) -> Content {
        Content(seed: number, size: number > 100 ? 700_000 : 20_000)
    }

    @Test
    func `stored files are delivered and read commands succeed while another process holds a transaction`()
        async throws
    {
        let urls = [origin.url("/1"), origin.url("/2")]
        #expect(try await work.command.run(["fetch"] + urls).ending == .exited(0))
        let transaction = try OpenTransaction(in: work.cache)
        for arguments in [
            ["fetch", urls[0]], ["fetch"] + urls, ["fetch", "-o", "x", urls[0]], ["stats"], ["ls"], ["path", urls[1]],
            ["info", urls[0]], ["verify"], ["pins"],
        ] {
            // A wait in vain for the transaction would be longer than the test may take.
            var command = work.command
            command.environment["IMGCACHE_CAPACITY"] = "1GiB"
            let outcome = try await command.run(arguments)
            #expect(outcome.ending == .exited(0), "\(arguments): \(outcome)")
        }
        #expect(origin.requests.count == 2)
        transaction.end()
        try await work.expectSoundStore()
    }

    @Test(arguments: [3, 103] as [UInt64])
    func `a new file bypasses a store that another process keeps locked, or fails with its path`(number: UInt64)
        async throws
    {
        #expect(try await work.fetch(origin.url("/1")).ending == .exited(0))
        let transaction = try OpenTransaction(in: work.cache)
        let written = try await work.fetch("--connect-timeout", "1", "-o", "file", origin.url("/\(number)"))
        #expect(written.ending == .exited(0), "\(written)")
        #expect(
            written.errorOutput.contains("warning") && written.errorOutput.contains("another process"), "\(written)")
        #expect(content(number).equalsFile(at: work.output("file")))
        #expect(work.outputNames == ["file"])
        let refused = try await work.fetch("--connect-timeout", "1", origin.url("/\(number)"))
        #expect(refused.ending == .exited(6), "\(refused)")
        #expect(
            refused.errorOutput.contains("another process") && refused.errorOutput.contains(work.cache), "\(refused)")
        #expect(!refused.errorOutput.contains("SQLite"), "\(refused)")
        transaction.end()
        let stored = try await work.fetch(origin.url("/\(number)"))
        #expect(stored.ending == .exited(0) && content(number).equalsFile(at: stored.lines.first ?? ""), "\(stored)")
        try await work.expectSoundStore()
    }

    @Test func `a process stopped at any moment of its start keeps no other from its file`() async throws {
        var generator = SeededGenerator(for: "StalledProcess, start")
        for round in 0..<Soak.count("IMGCACHE_SOAK_STOPPED_STARTS", usual: 8) {
            try? FileManager.default.removeItem(atPath: work.cache)
            let stopped = try work.command.start(["fetch", origin.url("/101"), origin.url("/1")])
            try? await Task.sleep(for: .microseconds(Int.random(in: 0...80_000, using: &generator)))
            stopped.send(signal: SIGSTOP)
            let name = "file\(round)"
            let written = try await work.fetch("--connect-timeout", "1", "-o", name, origin.url("/2"))
            #expect(written.ending == .exited(0), "\(written)")
            #expect(content(2).equalsFile(at: work.output(name)))
            let stored = try await work.fetch("--connect-timeout", "1", origin.url("/3"))
            #expect([.exited(0), .exited(6)].contains(stored.ending), "\(stored)")
            stopped.send(signal: SIGCONT)
            #expect(await stopped.end() == .exited(0), "\(stopped.errorOutput)")
            let last = try await work.fetch(origin.url("/101"), origin.url("/1"), origin.url("/2"))
            #expect(last.ending == .exited(0), "\(last)")
            for (path, number) in zip(last.lines, [101, 1, 2] as [UInt64]) {
                #expect(content(number).equalsFile(at: path))
            }
            try await work.expectSoundStore()
        }
    }

    @Test func `a foreign lock on the whole lock file causes only a warning`() async throws {
        #expect(try await work.fetch(origin.url("/1")).ending == .exited(0))
        let descriptor = open(work.cache + "/locks", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        // F_OFD_SETLK
        #expect(withUnsafeMutablePointer(to: &range) { fcntl(descriptor, 37, $0) } == 0)
        let outcome = try await work.fetch(origin.url("/1"), origin.url("/2"), origin.url("/101"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        for (path, number) in zip(outcome.lines, [1, 2, 101] as [UInt64]) {
            #expect(content(number).equalsFile(at: path))
        }
        #expect(outcome.errorOutput.components(separatedBy: "the lock file does not lock").count == 2, "\(outcome)")
        try await work.expectSoundStore()
    }

    @Test(arguments: ["locks", "CACHEDIR.TAG", "generations", "index.sqlite", "imgcache.json"])
    func `a FIFO in place of a file in the cache directory does not block a fetch`(name: String) async throws {
        #expect(try await work.fetch(origin.url("/1")).ending == .exited(0))
        let path = "\(work.cache)/\(name)"
        try? FileManager.default.removeItem(atPath: path)
        guard mkfifo(path, 0o600) == 0 else { throw SystemCallFailure("mkfifo") }
        let outcome = try await work.fetch(origin.url("/1"), origin.url("/101"))
        // The rules for keys are the user's: without them files would be looked for in other places.
        let isRefused = name == "imgcache.json"
        #expect(outcome.ending == .exited(isRefused ? 2 : 0), "\(outcome)")
        if !isRefused { try await work.expectSoundStore() }
    }
}
