import CSQLite
import Foundation
import Glibc
import TestSupport
import Testing

/// A disk that is full, a directory that cannot be written, an index that is damaged: exit code 6 or a warning, nothing
/// corrupt, and it works again afterwards.
@Suite(
    .fewAtATime(limit: .seconds(300)),
    .enabled(if: Tmpfs.unavailableReason == nil, "\(Tmpfs.unavailableReason ?? "")"))
struct StoreFailureTests {
    /// Large enough that the store's own reserve (64 MiB of the disk stay free) leaves room for the test's files.
    private static let diskSize: Int64 = 192 << 20
    private let disk: Tmpfs
    private let work: TestWorkspace

    init() throws {
        disk = try Tmpfs(size: Self.diskSize)
        work = try TestWorkspace(cache: disk.path + "/cache")
    }

    /// Fills the disk but for so many bytes.
    private func fill(leaving free: Int64 = 0) throws {
        var status = statvfs()
        guard statvfs(disk.path, &status) == 0 else { throw SystemCallFailure("statvfs") }
        let size = Int64(status.f_bavail) * Int64(status.f_frsize) - free
        let descriptor = open(disk.path + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallFailure("open filler") }
        defer { close(descriptor) }
        var done: Int64 = 0
        let chunk = [UInt8](repeating: 1, count: 1 << 20)
        while done < size {
            let count = write(descriptor, chunk, Int(min(size - done, Int64(chunk.count))))
            // The command may have taken some of it meanwhile.
            if count < 0 && errno == ENOSPC { return }
            guard count > 0 else { throw SystemCallFailure("write filler") }
            done += Int64(count)
        }
    }

    private func empty() throws {
        try FileManager.default.removeItem(atPath: disk.path + "/filler")
    }

    @Test func `a disk that is full in the middle of a body causes exit code 6, and the next run resumes`() async throws
    {
        let gate = Gate()
        // Below the size from which a second connection would be tried.
        let representation = Representation(seed: 91, size: 8_000_000)
        let origin = try ScriptedOrigin { _ in Behaviour(representation).with { $0.bodyGate = (5_000_000, gate) } }
        let process = try work.command.start(["fetch", origin.url()])
        #expect(await origin.waits { $0.first?.bodyBytesSent == 5_000_000 })
        #expect(await work.waitForRecordedBytes(4_000_000))
        try fill()
        gate.open()
        let full = await CommandRunner.outcome(of: process)
        #expect(full.ending == .exited(6), "\(full)")
        #expect(full.errorOutput.contains(origin.url()) || full.errorOutput.contains(disk.path), "\(full)")
        try empty()
        try await work.expectSoundStore()
        let (outcome, answer) = try await work.fetchJSON(origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(representation.content.equalsFile(at: answer.path ?? ""))
        #expect(answer.resumedFrom > 0)
        try await work.expectNoOrphans()
    }

    @Test func `a disk that is full at any step of a commit causes exit code 6 or 0, and no corruption`() async throws {
        // A small body is written, renamed and indexed in one go: with k pages free, one of the steps finds no room.
        let gates = (0..<24).map { _ in Gate() }
        let origin = try ScriptedOrigin { request in
            let number = Int(request.path.dropFirst()) ?? 0
            return Behaviour(Representation(seed: UInt64(number), size: 20_000)).with {
                if request.number <= gates.count { $0.bodyGate = (10_000, gates[number]) }
            }
        }
        var endings: Set<Int32> = []
        for number in gates.indices {
            let process = try work.command.start(["fetch", origin.url("/\(number)")])
            #expect(await origin.waits { $0.last?.request.path == "/\(number)" && $0.last?.bodyBytesSent == 10_000 })
            try fill(leaving: Int64(number) * 4096)
            gates[number].open()
            let outcome = await CommandRunner.outcome(of: process)
            guard case .exited(let code) = outcome.ending, code == 0 || code == 6 else {
                Issue.record("with \(number) pages free: \(outcome)")
                continue
            }
            endings.insert(code)
            if code == 0 {
                #expect(Content(seed: UInt64(number), size: 20_000).equalsFile(at: outcome.lines.first ?? ""))
            }
            try empty()
            try await work.expectSoundStore()
        }
        #expect(endings.contains(6))
        for number in gates.indices {
            let outcome = try await work.fetch(origin.url("/\(number)"))
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(Content(seed: UInt64(number), size: 20_000).equalsFile(at: outcome.lines.first ?? ""))
        }
        try await work.expectNoOrphans()
    }

    @Test func `a disk that fills up and empties again leads to exit code 6 or the right file, never another`()
        async throws
    {
        var generator = SeededGenerator(for: "StoreFailure, full and empty")
        let origin = try ScriptedOrigin { request in
            let parts = request.path.split(separator: "/").compactMap { UInt64($0) }
            return Behaviour(Representation(seed: parts[0], size: Int64(parts[1]))).with {
                $0.bytesPerSecond = 40_000_000
            }
        }
        var endings: [Int32: Int] = [:]
        for number in 1...Soak.count("IMGCACHE_SOAK_FULL_DISK", usual: 12) {
            let content = Content(seed: UInt64(number), size: Int64.random(in: 1...6_000_000, using: &generator))
            let process = try work.command.start(["fetch", origin.url("/\(content.seed)/\(content.size)")])
            if Bool.random(using: &generator) {
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...100, using: &generator)))
                try fill(leaving: [0, 4096, 300_000, 3_000_000].randomElement(using: &generator) ?? 0)
            }
            if Bool.random(using: &generator) {
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...100, using: &generator)))
                try? empty()
            }
            let outcome = await CommandRunner.outcome(of: process)
            guard case .exited(let code) = outcome.ending, code == 0 || code == 6 else {
                Issue.record("\(outcome)")
                continue
            }
            endings[code, default: 0] += 1
            if code == 0 { #expect(content.equalsFile(at: outcome.lines.first ?? ""), "\(outcome)") }
            try? empty()
        }
        print("full disk: \(endings)")
        let last = try await work.fetch(origin.url("/0/5000000"))
        #expect(last.ending == .exited(0), "\(last)")
        try await work.expectSoundStore()
        try await work.expectNoOrphans()
    }

    @Test func `a disk that is full before the first file causes exit code 6 until there is room`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 92, size: 400_000))
        try fill()
        #expect(try await work.fetch(origin.url()).ending == .exited(6))
        try empty()
        #expect(try await work.fetch(origin.url()).ending == .exited(0))
    }

    @Test func `prune --to 0 empties the store on a disk that is full to the last byte`() async throws {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: 92, size: 400_000)).with {
                if request.path == "/cut" { $0.cutAfter = 300_000 }
            }
        }
        for path in ["/a", "/b"] { #expect(try await work.fetch(origin.url(path)).ending == .exited(0)) }
        try await work.fetchUntilCut(origin.url("/cut"))
        try fill()
        let refused = try await work.fetch(origin.url("/c"))
        #expect(refused.ending == .exited(6) && !refused.errorOutput.contains("SQLite"), "\(refused)")
        let pruned = try await work.run("prune", "--to", "0")
        #expect(pruned.ending == .exited(0) && pruned.output.hasPrefix("evicted 2 entries"), "\(pruned)")
        #expect(try await work.run("ls").output.isEmpty)
        try empty()
        #expect(try await work.fetch(origin.url("/a")).ending == .exited(0))
        try await work.expectSoundStore()
    }

    @Test func `-o FILE on another disk works with a warning while the cache's disk is full`() async throws {
        let representation = Representation(seed: 93, size: 400_000)
        let origin = try ScriptedOrigin(serving: representation)
        try fill()
        let outcome = try await work.fetch("-o", "file", origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.errorOutput.contains("warning"), "\(outcome)")
        #expect(representation.content.equalsFile(at: work.output("file")))
        #expect(work.outputNames == ["file"])
    }

    @Test func `a read-only cache directory causes exit code 6, but -o FILE works with a warning`() async throws {
        let representation = Representation(seed: 94, size: 400_000)
        let origin = try ScriptedOrigin(serving: representation)
        try FileManager.default.createDirectory(atPath: work.cache, withIntermediateDirectories: true)
        try disk.setReadOnly(true)
        let refused = try await work.fetch(origin.url())
        #expect(refused.ending == .exited(6), "\(refused)")
        #expect(refused.errorOutput.contains(work.cache))
        let written = try await work.fetch("-o", "file", origin.url())
        #expect(written.ending == .exited(0), "\(written)")
        #expect(representation.content.equalsFile(at: work.output("file")))
        #expect(written.errorOutput.contains("warning"), "\(written)")
        #expect(work.outputNames == ["file"])
        // Files that no later run could find are removed as well.
        var command = work.command
        command.environment["TMPDIR"] = work.output("")
        let cut = try ScriptedOrigin { _ in Behaviour(representation).with { $0.cutAfter = 300_000 } }
        #expect(try await command.run(["fetch", "--retry", "0", "-o", "-", cut.url()]).ending == .exited(3))
        #expect(work.outputNames == ["file"])
        try disk.setReadOnly(false)
        #expect(try await work.fetch(origin.url()).ending == .exited(0))
    }

    @Test func `a read-only cache with files causes exit code 6 for a new one and keeps the others`() async throws {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: request.path == "/old" ? 95 : 96, size: 400_000))
        }
        #expect(try await work.fetch(origin.url("/old")).ending == .exited(0))
        try disk.setReadOnly(true)
        let new = try await work.fetch(origin.url("/new"))
        #expect(new.ending == .exited(6) && new.errorOutput.lowercased().contains("read-only"), "\(new)")
        for arguments in [
            ["ls"], ["path", origin.url("/old")], ["info", origin.url("/old")], ["stats"], ["verify"],
            ["fetch", origin.url("/old")], ["fetch", "--offline", "-o", work.output("copy"), origin.url("/old")],
        ] {
            let outcome = try await work.command.run(arguments)
            #expect(outcome.ending == .exited(0) && !outcome.output.isEmpty, "\(arguments): \(outcome)")
        }
        #expect(Content(seed: 95, size: 400_000).equalsFile(at: work.output("copy")))
        #expect(try await work.run("rm", origin.url("/old")).ending == .exited(6))
        try disk.setReadOnly(false)
        let old = try await work.fetch("--offline", origin.url("/old"))
        #expect(Content(seed: 95, size: 400_000).equalsFile(at: old.lines.first ?? ""), "\(old)")
    }

    @Test(arguments: ["noise", "cut short", "another application's", "not a database"])
    func `an index that is not ours or damaged is moved aside with a warning, and rebuilt`(damage: String) async throws
    {
        let representation = Representation(seed: 97, size: 400_000)
        let origin = try ScriptedOrigin(serving: representation)
        #expect(try await work.fetch(origin.url()).ending == .exited(0))
        let index = work.cache + "/index.sqlite"
        try moveLogIntoDatabase(index)
        switch damage {
        case "noise":
            var generator = SeededGenerator(for: "index")
            let size = FileManager.default.contents(atPath: index)?.count ?? 0
            let noise = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
            try Data(noise).write(to: URL(filePath: index))
        case "cut short":
            guard truncate(index, 5000) == 0 else { throw SystemCallFailure("truncate") }
        case "another application's":
            try setHeader(of: index, at: 68, to: [0x47, 0x50, 0x4B, 0x47])
        default:
            try Data("hello, this is a text".utf8).write(to: URL(filePath: index))
        }
        let outcome = try await work.fetch(origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.errorOutput.contains("index"), "\(outcome)")
        #expect(representation.content.equalsFile(at: outcome.lines.first ?? ""))
        try await work.expectSoundStore()
        let again = try await work.fetch("--offline", origin.url())
        #expect(again.ending == .exited(0), "\(again)")
        #expect(again.errorOutput.isEmpty, "\(again)")
    }

    /// Checkpoints the write-ahead log into the database.
    private func moveLogIntoDatabase(_ index: String) throws {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        guard sqlite3_open(index, &database) == SQLITE_OK,
            sqlite3_exec(database, "PRAGMA wal_checkpoint(TRUNCATE)", nil, nil, nil) == SQLITE_OK
        else { throw TestSetupFailure("checkpoint of \(index): \(String(cString: sqlite3_errmsg(database)))") }
    }

    /// Changes bytes of the database header (https://www.sqlite.org/fileformat.html section 1.3).
    private func setHeader(of index: String, at offset: off_t, to bytes: [UInt8]) throws {
        let descriptor = open(index, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemCallFailure("open \(index)") }
        defer { close(descriptor) }
        guard pwrite(descriptor, bytes, bytes.count, offset) == bytes.count else { throw SystemCallFailure("pwrite") }
    }

    /// Changes bytes in the second block of a stored body.
    private func damage(_ path: String) throws {
        chmod(path, 0o600)
        defer { chmod(path, 0o400) }
        try setHeader(of: path, at: 300_000, to: [0, 1, 2, 3, 4, 5, 6, 7])
    }

    @Test func `verify finds a body that was changed on disk, and --repair fetches the damaged block alone`()
        async throws
    {
        let representation = Representation(seed: 98, size: 3_000_000)
        let origin = try ScriptedOrigin(serving: representation)
        try damage(try #require(try await work.fetch(origin.url()).lines.first))
        let found = try await work.run("verify")
        #expect(found.ending == .exited(5), "\(found)")
        #expect(found.lines.first == "damaged  \(origin.url())")
        let sent = origin.bodyBytesSent
        let repaired = try await work.run("verify", "--repair")
        #expect(repaired.ending == .exited(0), "\(repaired)")
        #expect(repaired.lines.first == "repaired, 256 KiB fetched  \(origin.url())", "\(repaired)")
        #expect(origin.bodyBytesSent - sent == blockSize)
        #expect(origin.requests.last?.request["If-Range"] == representation.etag)
        try await work.expectSoundStore()
        let again = try await work.fetch(origin.url())
        #expect(representation.content.equalsFile(at: again.lines.first ?? ""), "\(again)")
        #expect(origin.requests.count == 2)
    }

    @Test func `verify --repair fetches through the proxy of the option or the settings`() async throws {
        let proxy = try ScriptedOrigin(serving: Representation(seed: 98, size: 3_000_000))
        let url = "http://origin.invalid/a"
        let file = try #require(try await work.fetch("--proxy", proxy.url(""), url).lines.first)
        try damage(file)
        let repaired = try await work.run("verify", "--repair", "--proxy", proxy.url(""))
        #expect(repaired.lines.first == "repaired, 256 KiB fetched  \(url)", "\(repaired)")
        #expect(proxy.requests.last?.request.target == url)
    }

    @Test func `blocks of a body that cannot be repaired now are kept for its next download, of the same version only`()
        async throws
    {
        for isReplaced in [false, true] {
            let (first, second) = (Representation(seed: 98, size: 3_000_000), Representation(seed: 97, size: 2_000_000))
            let origin = try ScriptedOrigin { request in
                Behaviour(request.number > 2 && isReplaced ? second : first).with {
                    if request.number == 2 { $0.status = 403 }
                }
            }
            let url = origin.url("/\(isReplaced)")
            try damage(try #require(try await work.fetch(url).lines.first))
            let repaired = try await work.run("verify", "--repair")
            #expect(repaired.ending == .exited(0), "\(repaired)")
            let kept = "damaged, removed, 2.61 MiB kept for its next download  \(url)"
            #expect(repaired.lines.first == kept, "\(repaired)")
            #expect(repaired.errorOutput.contains("403"), "\(repaired)")
            try await work.expectSoundStore()
            let sent = origin.bodyBytesSent
            let outcome = try await work.fetch(url)
            let expected = isReplaced ? second : first
            #expect(expected.content.equalsFile(at: outcome.lines.first ?? ""), "\(outcome)")
            #expect(origin.bodyBytesSent - sent == (isReplaced ? second.size : blockSize))
        }
    }

    @Test func `a small body, or one without a strong validator, is removed by --repair, and fetched again`()
        async throws
    {
        for representation in [
            Representation(seed: 98, size: 200_000), Representation(seed: 99, size: 700_000, etag: ""),
        ] {
            let origin = try ScriptedOrigin(serving: representation)
            let path = try #require(try await work.fetch(origin.url()).lines.first)
            chmod(path, 0o600)
            try setHeader(of: path, at: 100_000, to: [0, 1, 2, 3])
            let repaired = try await work.run("verify", "--repair")
            #expect(repaired.lines.first == "damaged, removed  \(origin.url())", "\(repaired)")
            try await work.expectSoundStore()
            let outcome = try await work.fetch(origin.url())
            #expect(representation.content.equalsFile(at: outcome.lines.first ?? ""), "\(outcome)")
            #expect(origin.requests.count == 2)
        }
    }

    @Test(arguments: [0, 699_999])
    func `a body that was cut short or removed on disk is a miss, not an error`(length: Int) async throws {
        let representation = Representation(seed: 99, size: 700_000)
        let origin = try ScriptedOrigin(serving: representation)
        let path = try #require(try await work.fetch(origin.url()).lines.first)
        if length == 0 {
            try FileManager.default.removeItem(atPath: path)
        } else {
            chmod(path, 0o600)
            guard truncate(path, off_t(length)) == 0 else { throw SystemCallFailure("truncate") }
        }
        let outcome = try await work.fetch(origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(representation.content.equalsFile(at: outcome.lines.first ?? ""))
        #expect(origin.requests.count == 2)
    }
}
