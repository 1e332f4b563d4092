import Foundation
import Glibc
import TestSupport
import Testing

/// `imgcache sync` and `imgcache list` against a server that lists ids.
@Suite(.fewAtATime) struct SyncCommandTests {
    private let work: TestWorkspace
    private let server: ListOrigin

    init() throws {
        work = try TestWorkspace()
        server = try ListOrigin()
        server.setList((0..<250).map { ListOrigin.Item(id: 1000 - $0, version: 5000 - $0) })
    }

    private func sync(_ more: String..., user: String = "ann") async throws -> CommandRunner.Outcome {
        try await work.command.run(server.arguments(user: user) + more)
    }

    /// The stored records, in order, as the server writes them.
    private func stored(_ user: String = "ann") async throws -> [String] {
        let outcome = try await work.run("list", "inbox", "--owner", user, "--json")
        return outcome.lines.map { line in
            let start = line.range(of: "\"record\":")?.upperBound ?? line.startIndex
            return String(line[start...].dropLast())
        }
    }

    private func expected(_ user: String = "ann") -> [String] {
        server.list(user).map { ListOrigin.record($0, of: user) }
    }

    private func types(_ outcome: CommandRunner.Outcome) -> [String: Int] {
        outcome.objects.reduce(into: [:]) { $0[$1["type"] as? String ?? "?", default: 0] += 1 }
    }

    @Test func `the first sync brings all records, the newest first, and list prints them`() async throws {
        let outcome = try await sync("--page-size", "50", "-j", "1")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.lines.first == #"{"type":"record","id":1000}"#)
        #expect(types(outcome) == ["record": 250, "finished": 1])
        #expect(outcome.lines.last == #"{"type":"finished","records":250,"removed":0,"failed":0,"pending":0}"#)
        #expect(try await stored() == expected())
        let first = try await work.run("list", "inbox", "--owner", "ann", "--limit", "2", "--json")
        #expect(
            first.lines.first
                == #"{"id":1000,"modified":5000,"record":\#(ListOrigin.record(server.list()[0], of: "ann"))}"#)
        let cursor = try #require(first.errorOutput.split(separator: " ").last.map { String($0.dropLast()) })
        let second = try await work.run("list", "inbox", "--owner", "ann", "--limit", "1", "--after", cursor)
        #expect(second.lines.first?.hasPrefix("998\t{") == true, "\(second)")
        #expect(server.pages == 5)
    }

    @Test func `shells complete the names of lists`() async throws {
        #expect(try await sync("--page-size", "250").ending == .exited(0))
        for command in ["list", "sync"] {
            for (typed, offered) in [("", ["'inbox'"]), ("in", ["'inbox'"]), ("x", [])] {
                let outcome = try await work.command.shell(
                    "SAP_SHELL=bash $IMGCACHE ---completion \(command) -- positional@0 2 \(typed.utf8.count) imgcache \(command) '\(typed)'"
                )
                #expect(outcome.lines.filter { !$0.isEmpty } == offered, "\(command) \(typed): \(outcome)")
            }
        }
    }

    @Test func `a second sync fetches only changed records and removes deleted ones`() async throws {
        #expect(try await sync().ending == .exited(0))
        let pages = server.pages
        let unchanged = try await sync()
        #expect(unchanged.lines == [#"{"type":"finished","records":0,"removed":0,"failed":0,"pending":0}"#])
        #expect(server.origin.requests.last?.status == 304)
        var list = server.list()
        list.removeSubrange(10..<12)
        list[5].version = 9000
        list.insert(ListOrigin.Item(id: 2000, version: 9999), at: 0)
        server.setList(list)
        let changed = try await sync()
        #expect(types(changed) == ["record": 2, "removed": 2, "finished": 1], "\(changed)")
        #expect(server.pages == pages + 1)
        #expect(Set(try await stored()) == Set(expected()))
    }

    @Test func `--if-modified-since syncs an array of only the changes`() async throws {
        server.setFaults { $0.sendsDeltas = true }
        #expect(try await sync("--if-modified-since").ending == .exited(0))
        #expect(try await sync("--if-modified-since").lines.count == 1)
        #expect(server.origin.requests.last?.status == 304)
        var list = server.list()
        list.removeSubrange(10..<12)
        list[5].version = 9000
        list.insert(ListOrigin.Item(id: 2000, version: 9999), at: 0)
        server.setList(list)
        let before = server.origin.bodyBytesSent
        let changed = try await sync("--if-modified-since")
        #expect(types(changed) == ["record": 2, "removed": 2, "finished": 1], "\(changed)")
        #expect(server.origin.bodyBytesSent - before < 500)
        #expect(Set(try await stored()) == Set(expected()))
        // Asked for as a whole, it is the same list.
        server.setFaults { $0.sendsDeltas = false }
        #expect(try await sync().lines.count == 1)
        #expect(Set(try await stored()) == Set(expected()))
        #expect(try await sync("--if-modified-since", "--ids", "http://127.0.0.1/{since}").ending == .exited(2))
    }

    @Test func `sync sends no request within the interval`() async throws {
        var arguments = server.arguments()
        arguments[try #require(arguments.firstIndex(of: "--interval")) + 1] = "1h"
        #expect(try await work.command.run(arguments).ending == .exited(0))
        let requests = server.origin.requests.count
        #expect(try await work.command.run(arguments).ending == .exited(0))
        #expect(server.origin.requests.count == requests)
    }

    @Test func `ids that no page contains are reported, stay pending and are fetched later`() async throws {
        server.setFaults { $0.missing = [999, 900] }
        let outcome = try await sync()
        #expect(outcome.ending == .exited(4), "\(outcome)")
        #expect(types(outcome) == ["record": 248, "failed": 2, "finished": 1])
        #expect(outcome.lines.last == #"{"type":"finished","records":248,"removed":0,"failed":2,"pending":2}"#)
        #expect(server.sent(999) == 3)
        server.setFaults { $0.missing = [] }
        let later = try await sync()
        #expect(types(later) == ["record": 2, "finished": 1])
        #expect(try await stored() == expected())
    }

    @Test func `a failed sync keeps the stored records, and the next run resumes`() async throws {
        server.setFaults { $0.failsEvery = 3 }
        let outcome = try await sync("--page-size", "20", "-j", "1")
        #expect(outcome.ending == .exited(4), "\(outcome)")
        #expect(outcome.errorOutput.contains("210 ids are pending"), "\(outcome)")
        server.setFaults { $0.failsEvery = nil }
        #expect(types(try await sync("--page-size", "20")) == ["record": 210, "finished": 1])
        #expect(try await stored() == expected())
        #expect((751...1000).allSatisfy { server.sent($0) <= 2 })
    }

    @Test(
        arguments: [
            ("<html>", nil, "line 1, byte 0"), ("[1,2", nil, "ends in the middle"),
            ("{\"a\":1}", nil, "an array of ids"),
            ("[\n1,\n[2]]", nil, "line 3"), (nil, "[{\"id\":1}]", "which was not asked for"),
            (nil, "{]", "line 1, byte 1"),
            (nil, "[{\"name\":1}]", "an object with an \"id\""),
        ] as [(String?, String?, String)])
    func `invalid input to a sync is one error with its place, and no record is lost`(
        _ array: String?, _ page: String?, _ message: String
    ) async throws {
        #expect(try await sync().ending == .exited(0))
        let before = try await stored()
        server.setList([ListOrigin.Item(id: 3000, version: 9999)] + server.list())
        server.setFaults { faults in
            faults.array = array
            faults.page = page
        }
        let outcome = try await sync()
        #expect(outcome.ending == .exited(5), "\(outcome)")
        #expect(outcome.errorOutput.contains(message) && outcome.errorOutput.contains("http://127.0.0.1"), "\(outcome)")
        #expect(outcome.errorOutput.split(separator: "\n").count == 1)
        #expect(try await stored() == before)
        server.setFaults { $0 = ListOrigin.Faults() }
        #expect(try await sync().ending == .exited(0))
        #expect(try await stored() == expected())
    }

    @Test func `one owner's list is separate from another's and is removed with its owner`() async throws {
        server.setList([ListOrigin.Item(id: 7, version: 1)], of: "bob")
        #expect(try await sync().ending == .exited(0))
        #expect(try await sync(user: "bob").ending == .exited(0))
        #expect(try await stored("bob") == expected("bob"))
        #expect(try await work.run("clear", "--owner", "ann").ending == .exited(0))
        #expect(try await work.run("list", "inbox", "--owner", "ann").ending == .exited(7))
        #expect(try await stored("bob") == expected("bob"))
    }

    @Test func `an owner who signs out in the middle of a sync leaves nothing behind`() async throws {
        server.setList([ListOrigin.Item(id: 7, version: 1)], of: "bob")
        #expect(try await sync(user: "bob").ending == .exited(0))
        server.setFaults { $0.pageDelay = 300 }
        let running = try work.command.start(server.arguments() + ["--page-size", "10", "-j", "2"])
        #expect(await server.origin.waits { $0.count { $0.request.path == "/ann/page" } > 4 })
        #expect(try await work.run("clear", "--owner", "ann").ending == .exited(0))
        let outcome = await CommandRunner.outcome(of: running)
        #expect(outcome.ending != .exited(0), "\(outcome)")
        #expect(outcome.errorOutput.contains("the list was removed"), "\(outcome)")
        #expect(outcome.errorOutput.split(separator: "\n").count == 1, "\(outcome)")
        #expect(try await work.run("list", "inbox", "--owner", "ann").ending == .exited(7))
        #expect(try await stored("bob") == expected("bob"))
        server.setFaults { $0.pageDelay = 0 }
        #expect(types(try await sync())["record"] == 250)
        #expect(try await stored() == expected())
    }

    @Test func `files that records name are downloaded and pinned while the record is there`() async throws {
        server.setList((1...12).map { ListOrigin.Item(id: $0, version: 100 - $0) })
        let outcome = try await sync("--files", "/file")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        for id in 1...12 {
            let path = try await work.run("path", server.origin.url("/file/\(id)"), "--owner", "ann")
            #expect(Content(seed: UInt64(id), size: 30_000).equalsFile(at: path.lines.first ?? ""))
        }
        let sets = try await work.run("pins", "--owner", "ann", "--json").lines
        #expect(sets == [#"{"bytes":360000,"failed":[],"list":true,"name":"inbox","present":12,"total":12}"#])
        _ = try await work.run("prune", "--to", "0")
        #expect(try await work.run("path", server.origin.url("/file/3"), "--owner", "ann").ending == .exited(0))
        server.setList(server.list().filter { $0.id != 3 })
        #expect(try await sync("--files", "/file").ending == .exited(0))
        _ = try await work.run("prune", "--to", "0")
        #expect(try await work.run("path", server.origin.url("/file/3"), "--owner", "ann").ending == .exited(7))
        #expect(try await work.run("path", server.origin.url("/file/4"), "--owner", "ann").ending == .exited(0))
    }

    @Test func `two processes that sync one list request each record once, and both report it`() async throws {
        server.setFaults { $0.pageDelay = 400 }
        let first = try work.command.start(server.arguments() + ["--page-size", "25", "-j", "2"])
        #expect(await server.origin.waits { $0.contains { $0.request.path == "/ann/page" } })
        let second = try work.command.start(server.arguments() + ["--page-size", "25", "-j", "2"])
        let outcomes = [await CommandRunner.outcome(of: first), await CommandRunner.outcome(of: second)]
        for outcome in outcomes { #expect(outcome.ending == .exited(0), "\(outcome)") }
        #expect(types(outcomes[0])["record"] == 250)
        let told = Set(outcomes[1].objects.filter { $0["type"] as? String == "record" }.compactMap { $0["id"] as? Int })
        #expect(told.count >= 25, "\(told.count)")
        #expect((751...1000).allSatisfy { server.sent($0) == 1 })
        #expect(try await stored() == expected())
    }

    @Test(.enabled(if: Tmpfs.unavailableReason == nil))
    func `a full disk ends a sync with one error and without a lost record`()
        async throws
    {
        let disk = try Tmpfs(size: 90 << 20)
        let work = try TestWorkspace(cache: disk.path + "/cache")
        server.setList((0..<20).map { ListOrigin.Item(id: 100 - $0, version: 500 - $0) })
        #expect(try await work.command.run(server.arguments()).ending == .exited(0))
        try disk.resize(to: 66 << 20)
        server.setList((0..<60_000).map { ListOrigin.Item(id: 200_000 - $0, version: 900_000 - $0) } + server.list())
        let outcome = try await work.command.run(server.arguments())
        #expect(outcome.ending == .exited(6), "\(outcome.ending) \(outcome.errorOutput)")
        #expect(outcome.errorOutput.split(separator: "\n").count == 1, "\(outcome.errorOutput)")
        let kept = try await work.run("list", "inbox", "--owner", "ann", "--json")
        #expect(kept.lines.count == 20, "\(kept.errorOutput)")
        try disk.resize(to: 400 << 20)
        server.setList(Array(server.list().suffix(500)))
        #expect(try await work.command.run(server.arguments()).ending == .exited(0))
        #expect(try await work.run("list", "inbox", "--owner", "ann", "--json").lines.count == 500)
    }
}
