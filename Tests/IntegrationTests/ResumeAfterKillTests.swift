import ConcurrencyPrimitives
import Foundation
import Glibc
import TestSupport
import Testing

/// The real command, killed at any moment, and run again until it is done.
@Suite(.serialized, .fewAtATime(limit: .seconds(300))) struct ResumeAfterKillTests {
    private static let capacity: Int64 = 48 << 20
    /// The greatest number of bytes in transit when the command dies: 1 MiB in the engine, which receives so much more than the store has taken
    /// (`BodySink`), and as many in the buffers of the sockets. Both fill while the command waits for a processor or a disk. On average it is far less:
    /// all files together may cost only a block for each kill.
    private static let inFlight: Int64 = 2 << 20

    private let work: TestWorkspace
    private let origin: ScriptedOrigin
    /// The version of all files.
    private let version = Locked<UInt64>(0)

    init() throws {
        work = try TestWorkspace()
        // Each path is a different file: "/SEED/SIZE".
        origin = try ScriptedOrigin { [version] request in
            let parts = request.path.split(separator: "/").compactMap { UInt64($0) }
            let seed = parts[0] | version.withLock { $0 } << 32
            return Behaviour(Representation(seed: seed, size: Int64(parts[1]))).with {
                $0.bytesPerSecond = 30_000_000
            }
        }
    }

    /// The share of the kills of a soak: six tenths with one process, two with two, two with eight. nil without a soak.
    private static func soak(tenths: Int) -> Int? {
        let kills = Soak.count("IMGCACHE_SOAK_KILLS", usual: 0)
        return kills > 0 ? max(1, kills * tenths / 10) : nil
    }

    private struct File {
        let content: Content
        var kills: Int64 = 0

        var path: String { "/\(content.seed)/\(content.size)" }

        /// Mostly bodies with several blocks, some so small that they never have a partial.
        init(number: Int, using generator: inout SeededGenerator) {
            let size =
                number % 5 == 0
                ? Int64.random(in: 1...blockSize, using: &generator)
                : Int64.random(in: 1_000_000...8_000_000, using: &generator)
            content = Content(seed: UInt64(number), size: size)
        }
    }

    private func fetch(_ file: File) throws -> ChildProcess {
        try work.command.start(["fetch", "--capacity", "\(Self.capacity)", origin.url(file.path)])
    }

    /// Kills at a random moment: of the start, of the whole run, or of the time when the body has just arrived and is
    /// committed, older entries are evicted and the index is written.
    private func kill(_ process: ChildProcess, loading file: File, using generator: inout SeededGenerator) async {
        let requests = origin.requests.count
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
            try? await Task.sleep(for: .microseconds(Int.random(in: 0...60_000, using: &generator)))
        case 1:
            _ = await origin.waits(upTo: 5) { $0.count > requests || process.ending != nil }
            await arrival(of: process)
            try? await Task.sleep(for: .microseconds(Int.random(in: 0...15_000, using: &generator)))
        default:
            _ = await origin.waits(upTo: 5) { $0.count > requests || process.ending != nil }
            let duration = file.content.size / 30  // microseconds at 30 MB/s
            try? await Task.sleep(for: .microseconds(Int64.random(in: 0...duration, using: &generator)))
        }
        process.send(signal: SIGKILL)
    }

    /// Waits until the origin has sent all that it was asked for.
    private func arrival(of process: ChildProcess) async {
        _ = await origin.waits(upTo: 10) { $0.last?.ending != .underway || process.ending != nil }
    }

    @Test func `files are right after 100 kills over download, commit, eviction and index write`() async throws {
        let wanted = Self.soak(tenths: 6) ?? 100
        var generator = SeededGenerator(for: "ResumeAfterKill")
        var files = [File(number: 1, using: &generator)]
        var kills = 0
        while kills < wanted {
            let current = files.count - 1
            let process = try fetch(files[current])
            await kill(process, loading: files[current], using: &generator)
            let outcome = await CommandRunner.outcome(of: process)
            if outcome.ending == .signaled(SIGKILL) {
                kills += 1
                files[current].kills += 1
                Soak.report(kills, after: kills - 1, of: wanted, "kills of one process")
            } else {
                #expect(outcome.ending == .exited(0), "\(outcome)")
                #expect(files[current].content.equalsFile(at: outcome.lines.first ?? ""), "\(files[current])")
                files.append(File(number: files.count + 1, using: &generator))
            }
            let usage = DiskUsage.bytes(at: work.cache)
            #expect(usage <= Self.capacity + files[current].content.size, "after kill \(kills)")
        }
        try await expectEverythingRight(files)
    }

    /// Up to all of the processes are killed, each at a different time. Another process then completes the remaining bytes.
    @Test(arguments: [(processes: 2, rounds: 15, share: 2), (processes: 8, rounds: 6, share: 2)])
    func `several processes on one directory deliver right files although some are killed`(
        processes: Int, rounds: Int, share: Int
    ) async throws {
        var kills = 0
        var generator = SeededGenerator(for: "ResumeAfterKill, \(processes) processes")
        var files: [File] = []
        var round = 0
        let wanted = Self.soak(tenths: share)
        while wanted.map({ kills < $0 }) ?? (round < rounds) {
            round += 1
            let before = kills
            var file = File(number: 1000 * processes + round, using: &generator)
            let running = try (0..<processes).map { _ in try fetch(file) }
            let victims = running.shuffled(using: &generator).prefix(Int.random(in: 1...processes, using: &generator))
            for victim in victims { await kill(victim, loading: file, using: &generator) }
            var delivered = 0
            for process in running {
                let outcome = await CommandRunner.outcome(of: process)
                if outcome.ending == .signaled(SIGKILL) {
                    #expect(victims.contains { $0 === process })
                    file.kills += 1
                    kills += 1
                } else {
                    delivered += 1
                    #expect(outcome.ending == .exited(0), "\(outcome)")
                    #expect(file.content.equalsFile(at: outcome.lines.first ?? ""), "\(outcome)")
                }
            }
            if delivered == 0 {
                let outcome = await CommandRunner.outcome(of: try fetch(file))
                #expect(file.content.equalsFile(at: outcome.lines.first ?? ""), "\(outcome)")
            }
            #expect(DiskUsage.bytes(at: work.cache) <= Self.capacity + file.content.size)
            files.append(file)
            Soak.report(kills, after: before, of: wanted ?? 0, "kills of \(processes) processes")
        }
        try await expectEverythingRight(files)
    }

    /// Returns true if a file has the bytes of one version that the origin has had since the given one.
    private func hasVersion(of file: File, since first: UInt64, at path: String) -> Bool {
        (first...version.withLock { $0 }).contains {
            Content(seed: file.content.seed | $0 << 32, size: file.content.size).equalsFile(at: path)
        }
    }

    /// The locks of the store either exclude nobody or fail, as on some network file systems; SQLite's work. The file changes at the origin
    /// meanwhile. Half of the processes deliver a copy, half the path in the store, which a later commit may have deleted.
    @Test(arguments: [LockShim.Locks.succeed, .fail])
    func `eight processes on a network file system without locks, some of them killed, deliver only right bodies`(
        locks: LockShim.Locks
    ) async throws {
        let shim = try await LockShim()
        var command = work.command
        command.environment.merge(shim.environment(locks: locks)) { $1 }
        let wanted = Soak.count("IMGCACHE_SOAK_LOCK_KILLS", usual: 20)
        var generator = SeededGenerator(for: "ResumeAfterKill, locks that \(locks)")
        var (kills, delivered, replaced, refused, resumed, round) = (0, 0, 0, 0, 0, 0)
        while kills < wanted {
            round += 1
            let before = kills
            let file = File(number: 100_000 + round, using: &generator)
            let first = version.withLock { $0 }
            let changesAt = Int.random(in: 0..<12, using: &generator)
            let running = try (0..<8).map { number in
                let output = work.output("\(round)-\(number)")
                return try command.start(
                    ["fetch", "--capacity", "512MiB"] + (number % 2 == 0 ? ["-o", output] : []) + [
                        origin.url(file.path)
                    ])
            }
            let victims = running.shuffled(using: &generator).prefix(Int.random(in: 1...8, using: &generator))
            for (number, victim) in victims.enumerated() {
                if number == changesAt { version.withLock { $0 += 1 } }
                await kill(victim, loading: file, using: &generator)
            }
            for (number, process) in running.enumerated() {
                let outcome = await CommandRunner.outcome(of: process)
                if outcome.ending == .signaled(SIGKILL) {
                    kills += 1
                    continue
                }
                // A body that another process replaced at the moment of its commit may have to be asked for again.
                if outcome.ending == .exited(6), outcome.errorOutput.contains("again") {
                    refused += 1
                    continue
                }
                #expect(outcome.ending == .exited(0), "round \(round): \(outcome)")
                let path = outcome.lines.first ?? ""
                if number % 2 == 1, !FileManager.default.fileExists(atPath: path) {
                    replaced += 1
                    continue
                }
                delivered += 1
                #expect(hasVersion(of: file, since: first, at: path), "round \(round): \(outcome)")
            }
            let last = await CommandRunner.outcome(
                of: try command.start(["fetch", "--json", "--capacity", "512MiB", origin.url(file.path)]))
            #expect(last.ending == .exited(0), "round \(round): \(last)")
            let answer = try FetchReport(last)
            if answer.source == "resumed" { resumed += 1 }
            #expect(hasVersion(of: file, since: first, at: answer.path ?? ""), "round \(round): \(last)")
            for name in work.outputNames { try? FileManager.default.removeItem(atPath: work.output(name)) }
            Soak.report(kills, after: before, of: wanted, "kills with locks that \(locks)")
        }
        print(
            "lock kills: \(kills) with locks that \(locks), in \(round) rounds; \(delivered + round) right bodies, \(resumed) of them resumed, "
                + "\(replaced) replaced before they were read, \(refused) to be asked for again")
        let verified = try await command.run(["verify"])
        #expect(verified.ending == .exited(0), "\(verified)")
    }

    /// Completes the last file, and checks the bytes transferred, the bytes stored and the store itself.
    private func expectEverythingRight(_ files: [File]) async throws {
        let last = try #require(files.last)
        let outcome = await CommandRunner.outcome(of: try fetch(last))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(SHA256.hex(ofFile: outcome.lines.first ?? "") == last.content.sha256)

        #expect(await origin.waits { $0.allSatisfy { $0.ending != .underway } })
        let sent = Dictionary(grouping: origin.requests, by: \.request.path).mapValues { requests in
            requests.reduce(0) { $0 + $1.bodyBytesSent }
        }
        for file in files {
            let allowed = file.content.size + file.kills * (min(blockSize, file.content.size) + Self.inFlight)
            #expect(sent[file.path, default: 0] <= allowed, "\(file)")
        }
        let sizes = files.reduce(0) { $0 + $1.content.size }
        let kills = files.reduce(0) { $0 + $1.kills }
        #expect(origin.bodyBytesSent <= sizes + kills * blockSize)
        print("kills: \(kills), of \(files.count) files")

        try await work.expectSoundStore()
        try await work.expectNoOrphans()
        #expect(DiskUsage.bytes(at: work.cache) <= Self.capacity)
    }
}
