import CSQLite
import Foundation
import TestSupport
import Testing

/// The store of a newer version is refused, not emptied; and the capacity is an option of commands that change the store.
@Suite(.fewAtATime) struct NewerStoreTests {
    private let work: TestWorkspace
    private let origin: ScriptedOrigin

    init() async throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin(serving: Representation(seed: 5, size: 20_000))
    }

    /// The files of the directory but those that SQLite makes to read the index.
    private var files: [String] { DiskUsage.files(at: work.cache).filter { !$0.hasPrefix("index.sqlite-") } }

    private func makeNewer() async throws {
        #expect(try await work.fetch(origin.url("/a")).ending == .exited(0))
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        guard sqlite3_open(work.cache + "/index.sqlite", &database) == SQLITE_OK,
            sqlite3_exec(database, "PRAGMA user_version = 99", nil, nil, nil) == SQLITE_OK
        else { throw TestSetupFailure("user_version: \(String(cString: sqlite3_errmsg(database)))") }
    }

    @Test
    func `each command that opens the store refuses one that a newer version made, with exit code 6 and a sentence`()
        async throws
    {
        try await makeNewer()
        let url = origin.url("/a")
        let before = files
        for arguments in [
            ["fetch", url], ["fetch", url, origin.url("/b")], ["fetch", "-o", "x", url], ["fetch", "--offline", url],
            ["thumb", "-o", "x.png", url], ["stats"], ["ls"], ["path", url], ["info", url], ["verify"],
            ["verify", "--repair"], ["prune"], ["clear"], ["rm", url], ["pins"], ["pin", "set", url], ["unpin", "set"],
            ["list", "records"],
        ] {
            let outcome = try await work.command.run(arguments)
            #expect(outcome.ending == .exited(6), "\(arguments): \(outcome)")
            let lines = outcome.errorOutput.split(separator: "\n").filter { $0.contains("made by a newer imgcache") }
            #expect(lines.count == 1, "\(arguments): \(outcome)")
            #expect(lines.first?.contains(work.cache) == true && lines.first?.contains("--discard-newer") == true)
        }
        #expect(files == before)
        #expect(work.outputNames.isEmpty)
        #expect(origin.requests.count == 1)
    }

    @Test func `--discard-newer empties the store of a newer version, and the next run needs it no more`() async throws
    {
        try await makeNewer()
        let outcome = try await work.fetch("--discard-newer", origin.url("/a"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(origin.requests.count == 2)
        #expect(try await work.fetch("--offline", origin.url("/a")).ending == .exited(0))
        try await work.expectSoundStore()
    }

    @Test(arguments: [
        ["stats"], ["ls"], ["verify"], ["pins"], ["path", "URL"], ["info", "URL"], ["list", "x"], ["dir"],
    ])
    func `a command that only reads has no option for the capacity`(arguments: [String]) async throws {
        let outcome = try await work.command.run(arguments + ["--capacity", "1GiB"])
        #expect(outcome.ending == .exited(2), "\(outcome)")
        #expect(outcome.errorOutput.contains("--capacity"), "\(outcome)")
    }

    @Test func `ls and stats show the contents and the capacity of the store, whatever the environment says`()
        async throws
    {
        #expect(try await work.fetch("--capacity", "8MiB", origin.url("/a")).ending == .exited(0))
        var command = work.command
        command.environment["IMGCACHE_CAPACITY"] = "1GiB"
        let stats = try await command.run(["stats", "--json"])
        #expect(stats.objects.first?["capacity"] as? Int == 8 << 20, "\(stats)")
        #expect(try await command.run(["ls"]).ending == .exited(0))
        let again = try await work.run("stats", "--json")
        #expect(again.objects.first?["capacity"] as? Int == 8 << 20, "\(again)")
    }
}
