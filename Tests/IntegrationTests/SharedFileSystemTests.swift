import Foundation
import Glibc
import TestSupport
import Testing

/// The command on file systems that other machines may use.
@Suite(.fewAtATime) struct SharedFileSystemTests {
    private var work: TestWorkspace
    private let shim: LockShim
    private let origin: ScriptedOrigin
    private let content = Representation(seed: 71, size: 3_000_000)

    init() async throws {
        work = try TestWorkspace()
        shim = try await LockShim()
        origin = try ScriptedOrigin(serving: content)
    }

    /// The command on such a file system.
    private func command(
        locks: LockShim.Locks = .real, recordLocks: LockShim.Locks = .real, magic: Int = 0x6969
    ) -> CommandRunner {
        var command = work.command
        command.environment.merge(shim.environment(locks: locks, recordLocks: recordLocks, magic: magic)) { $1 }
        return command
    }

    private var indexFiles: [String] { DiskUsage.files(at: work.cache).filter { $0.hasPrefix("index.") } }

    @Test(arguments: LockShim.Locks.allCases)
    func `a fetch on NFS warns in one line, unless -q is given, and the next one is a hit`(
        locks: LockShim.Locks
    ) async throws {
        let command = command(locks: locks)
        let first = try await command.run(["fetch", origin.url()])
        #expect(first.ending == .exited(0), "\(first)")
        #expect(first.errorOutput.split(separator: "\n").count == 1, "\(first)")
        #expect(first.errorOutput.contains("the cache is on nfs"), "\(first)")
        #expect(content.content.equalsFile(at: first.lines.first ?? ""))
        #expect(indexFiles == ["index.sqlite"])
        for arguments in [["fetch", "-q", origin.url()], ["fetch", "-q", "-o", "copy", origin.url()]] {
            let next = try await command.run(arguments)
            #expect(next.ending == .exited(0) && next.errorOutput.isEmpty, "\(next)")
        }
        #expect(content.content.equalsFile(at: work.output("copy")))
        #expect(origin.requests.count == 1)
        // A fast path that finds nothing is followed by the regular one.
        let miss = try await command.run(["fetch", origin.url("/other")])
        #expect(miss.errorOutput.split(separator: "\n").count == 1, "\(miss)")
    }

    @Test(arguments: [0x794C_7630, 0x0102_1994]) func `an overlay file system and tmpfs need no warning`(
        magic: Int
    ) async throws {
        let outcome = try await command(magic: magic).run(["fetch", origin.url()])
        #expect(outcome.ending == .exited(0) && outcome.errorOutput.isEmpty, "\(outcome)")
    }

    @Test(arguments: [LockShim.Locks.fail, .succeed])
    func `an index whose locks do not work is not changed, and stored files are delivered`(
        recordLocks: LockShim.Locks
    ) async throws {
        let stored = try await command().run(["fetch", origin.url()])
        #expect(stored.ending == .exited(0))
        let command = command(locks: .fail, recordLocks: recordLocks)
        let hit = try await command.run(["fetch", origin.url()])
        #expect(hit.ending == .exited(0) && hit.lines == stored.lines, "\(hit)")
        let other = origin.url("/other")
        for arguments in [
            ["prune"], ["clear"], ["rm", origin.url()], ["fetch", other], ["fetch", "-o", "copy", other],
        ] {
            let outcome = try await command.run(arguments)
            #expect(outcome.ending == .exited(6), "\(outcome)")
            #expect(outcome.errorOutput.contains("file locks"), "\(outcome)")
            #expect(outcome.errorOutput.contains("on nfs"), "\(outcome)")
        }
        #expect(try await work.fetch(origin.url()).lines == stored.lines)
        #expect(origin.requests.count { $0.request.path == "/" } == 1)
    }

    @Test func `a download that was killed on NFS is resumed on a local disk, and the other way round`() async throws {
        for (number, places) in [[command(), work.command], [work.command, command()]].enumerated() {
            let gate = Gate()
            let slow = try ScriptedOrigin { [content] request in
                Behaviour(content).with { if request.number == 1 { $0.bodyGate = (2_000_000, gate) } }
            }
            let process = try places[0].start(["fetch", slow.url("/\(number)")])
            #expect(await work.waitForRecordedBytes(1_500_000))
            process.send(signal: SIGKILL)
            _ = await process.end()
            gate.open()
            let outcome = try await places[1].run(["fetch", "--json", slow.url("/\(number)")])
            let answer = try FetchReport(outcome)
            #expect(answer.source == "resumed" && answer.resumedFrom > 1_000_000, "\(outcome)")
            #expect(content.content.equalsFile(at: answer.path ?? ""))
        }
    }
}
