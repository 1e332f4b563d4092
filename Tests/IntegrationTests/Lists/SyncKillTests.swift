import Foundation
import Glibc
import TestSupport
import Testing

/// `imgcache sync`, killed at any moment while the server's list changes, and run again until it is done.
@Suite(.serialized, .fewAtATime(limit: .seconds(300))) struct SyncKillTests {
    private let work: TestWorkspace
    private let server: ListOrigin

    init() throws {
        work = try TestWorkspace()
        server = try ListOrigin()
    }

    private func change(of user: String, using generator: inout SeededGenerator, next: inout Int) {
        var list = server.list(user)
        for _ in 0..<Int.random(in: 0...40, using: &generator) {
            let place = Int.random(in: 0...list.count, using: &generator)
            next += 1
            switch Int.random(in: 0..<6, using: &generator) {
            case 0 where list.count > 200: list.remove(at: place % list.count)
            case 1 where !list.isEmpty: list[place % list.count].version = next
            default: list.insert(ListOrigin.Item(id: next, version: next), at: 0)
            }
        }
        server.setList(list, of: user)
    }

    private func stored(_ user: String) async throws -> [Int: String] {
        let outcome = try await work.run("list", "inbox", "--owner", user, "--json")
        var records: [Int: String] = [:]
        for object in outcome.objects {
            guard let id = object["id"] as? Int, let record = object["record"] as? [String: any Sendable] else {
                continue
            }
            #expect(records[id] == nil, "twice: \(id)")
            records[id] = record["text"] as? String
        }
        return records
    }

    @Test func `a sync of two users that is killed at random moments loses no record`() async throws {
        let wanted = Soak.count("IMGCACHE_SOAK_KILLS", usual: 60)
        var generator = SeededGenerator(for: "SyncKill")
        var kills = 0
        var next = 0
        server.setFaults { $0.pageDelay = 2 }
        while kills < wanted {
            let user = Bool.random(using: &generator) ? "ann" : "bob"
            change(of: user, using: &generator, next: &next)
            // The array as a whole, or what changed since the one before.
            let asksForChanges = Bool.random(using: &generator)
            server.setFaults { $0.sendsDeltas = asksForChanges }
            let options = ["--page-size", "7", "-j", "3"] + (asksForChanges ? ["--if-modified-since"] : [])
            let processes = try (0..<Int.random(in: 1...2, using: &generator)).map { _ in
                try work.command.start(server.arguments(user: user) + options)
            }
            let requests = server.origin.requests.count
            if Bool.random(using: &generator) {
                _ = await server.origin.waits(upTo: 5) { $0.count > requests || processes[0].ending != nil }
            }
            try? await Task.sleep(for: .microseconds(Int.random(in: 0...120_000, using: &generator)))
            // A change of user in the middle.
            let clears = Int.random(in: 0..<12, using: &generator) == 0
            if clears { server.beginForgetting(user) }
            let clearing = clears ? try work.command.start(["clear", "--owner", user]) : nil
            if clears { try? await Task.sleep(for: .milliseconds(Int.random(in: 0...150, using: &generator))) }
            processes[0].send(signal: SIGKILL)
            for process in processes {
                let outcome = await CommandRunner.outcome(of: process)
                if outcome.ending == .signaled(SIGKILL) {
                    kills += 1
                } else if clearing == nil {
                    #expect(outcome.ending == .exited(0), "\(outcome)")
                } else {
                    #expect(outcome.errorOutput.isEmpty || outcome.errorOutput.contains("removed"), "\(outcome)")
                }
            }
            if let clearing {
                #expect(await CommandRunner.outcome(of: clearing).ending == .exited(0))
                server.forget(user)
            }
            if kills % 10 == 0 { try await expectEveryRecordWasListed(user) }
            // And one between two syncs.
            if Int.random(in: 0..<15, using: &generator) == 0 {
                #expect(try await work.run("clear", "--owner", user).ending == .exited(0))
                #expect(try await stored(user).isEmpty)
                server.forget(user)
            }
        }
        server.setFaults { $0.sendsDeltas = false }
        for user in ["ann", "bob"] {
            let outcome = try await work.command.run(server.arguments(user: user))
            #expect(outcome.ending == .exited(0), "\(outcome)")
            let wanted = Dictionary(
                uniqueKeysWithValues: server.list(user).map { ($0.id, "\(user) \($0.id) version \($0.version)") })
            #expect(try await stored(user) == wanted)
        }
        // A kill repeats at most the pages in flight: three of seven ids.
        #expect(server.repeats <= 21 * kills, "\(server.repeats), \(kills) kills")
        let known = Set(try await work.run("ls", "--json").lines)
        // Of pages only those are left as files whose process was killed.
        #expect(known.count <= 3 * kills + 2, "\(known.count)")
        try await work.expectSoundStore()
        try await work.expectNoOrphans()
    }

    /// Ids that take several transactions to write, all of them changed from one array to the next.
    private func items(_ count: Int, version: Int) -> [ListOrigin.Item] {
        (0..<count).map { ListOrigin.Item(id: $0, version: version) }
    }

    private func expectSynced(_ arguments: [String]) async throws {
        let outcome = try await work.command.run(arguments)
        #expect(outcome.ending == .exited(0), "\(outcome.errorOutput)")
        #expect(outcome.lines.last?.hasSuffix(#""failed":0,"pending":0}"#) == true, "\(outcome.lines.last ?? "")")
        let listed = server.list("ann").map { ($0.id, "ann \($0.id) version \($0.version)") }
        #expect(try await stored("ann") == Dictionary(uniqueKeysWithValues: listed))
    }

    @Test func `an array that breaks off at its end does not affect the next sync`() async throws {
        let arguments = server.arguments() + ["--page-size", "2000"]
        server.setList(items(6001, version: 1), of: "ann")
        try await expectSynced(arguments)
        let changed = items(6001, version: 2)
        let elements = changed.map { #"{"id":\#($0.id),"modified":\#($0.version)}"# }
        server.setFaults { $0.array = "[" + elements.joined(separator: ",") + ",oops]" }
        let outcome = try await work.command.run(arguments)
        #expect(outcome.ending != .exited(0))
        server.setFaults { $0.array = nil }
        server.setList(Array(changed.dropFirst(50)), of: "ann")
        try await expectSynced(arguments)
    }

    @Test func `a sync that is killed while it applies a large array does not affect the next sync`()
        async throws
    {
        var generator = SeededGenerator(for: "SyncKill, large")
        let arguments = server.arguments() + ["--page-size", "2000"]
        server.setList(items(4001, version: 1), of: "ann")
        try await expectSynced(arguments)
        for version in 2...4 {
            server.setList(items(4001 - 13 * version, version: version), of: "ann")
            let requests = server.origin.requests.count
            let process = try work.command.start(arguments)
            // From the array's arrival on, at any moment; a sync that is faster is none that was killed.
            _ = await server.origin.waits(upTo: 30) { $0.count > requests || process.ending != nil }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...400, using: &generator)))
            process.send(signal: SIGKILL)
            _ = await CommandRunner.outcome(of: process)
            try await expectSynced(arguments)
        }
    }

    /// Whatever was stored was at some time what the server listed for that user.
    private func expectEveryRecordWasListed(_ user: String) async throws {
        let listed = server.listed(user)
        for (id, text) in try await stored(user) {
            #expect(text.hasPrefix("\(user) \(id) version ") && listed.contains(text), "\(text)")
        }
    }
}
