import ConcurrencyPrimitives
import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

private let block = Int(BlockMap.blockSize)

@Suite(.timeLimit) struct SweepTests {
    @Test
    func `a sweep deletes unknown files, and keeps entries, partials and foreign files`() async throws {
        let test = try StoreUnderTest()
        for number in 0..<20 { try test.store.put("k\(number)", pattern(1000)) }
        let writer = try test.store.beginBody(for: EntryKey("part"))
        try writer.start(header: [], total: Int64(3 * block))
        try writer.write(pattern(block))
        for path in [
            "bodies/05/0000000000000105", "bodies/05/photo", "bodies/ff/00000000000000ff",
            "partials/0000000000000007.data", "partials/0000000000000008.0000000000000001.record",
            "partials/0000000000000009.small", "partials/notes.txt",
        ] {
            let full = "\(test.path)/\(path)"
            let folder = (full as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data(pattern(5000)).write(to: URL(fileURLWithPath: full))
        }
        let result = try #require(try await test.store.sweep())
        #expect(result.orphans == 5)
        #expect(result.bytes == 5 * 8192)
        #expect(DiskUsage.files(at: test.path + "/bodies").count == 21)
        #expect(DiskUsage.files(at: test.path + "/partials").sorted().last == "notes.txt")
        #expect(DiskUsage.files(at: test.path + "/partials").count == 3)
        #expect(try test.store.verify() == VerifyResult(checked: 20, bytes: 20_000, failed: 0))
        #expect(try await test.store.sweep()?.orphans == 0)
        try writer.write(pattern(block))
    }

    @Test
    func `a sweep is due again after its interval, or if the clock stepped back`()
        async throws
    {
        let test = try StoreUnderTest()
        let day = Duration.seconds(24 * 3600)
        #expect(try await test.store.sweep(ifOlderThan: day) != nil)
        #expect(try await test.again().sweep(ifOlderThan: day) == nil)
        test.clock.advance(25 * 3600)
        #expect(try await test.store.sweep(ifOlderThan: day) != nil)
        test.clock.advance(-3600)
        #expect(try await test.store.sweep(ifOlderThan: day) != nil)
    }

    @Test func `a sweep is due after a restart of the machine, however recent the last one was`() async throws {
        let directory = try TestDirectory()
        let (clock, uptime) = (TestClock(), Locked(Duration.seconds(100_000)))
        var configuration = StoreConfiguration(capacity: 8 << 20)
        configuration.minimumFreeSpace = 0
        configuration.clock = { clock.now }
        configuration.uptime = { uptime.withLock { $0 } }
        let store = try DiskStore(directory: directory.path("cache"), configuration: configuration)
        #expect(try await store.sweep(ifOlderThan: .seconds(86_400)) != nil)
        clock.advance(60)
        #expect(try await store.sweep(ifOlderThan: .seconds(86_400)) == nil)
        uptime.withLock { $0 = .seconds(10) }
        #expect(try await store.sweep(ifOlderThan: .seconds(86_400)) != nil)
        #expect(try await store.sweep(ifOlderThan: .seconds(86_400)) == nil)
    }

    @Test
    func `a sweep repairs partials with a missing or damaged record, and commits cut short by a kill`()
        async throws
    {
        let test = try StoreUnderTest()
        for key in ["without record", "damaged record", "killed"] {
            let writer = try test.store.beginBody(for: EntryKey(key))
            try writer.start(header: [1], total: 600_000)
            try writer.write(pattern(600_000))
            try writer.keep()
        }
        let rows = try test.store.withIndex { (index) throws(StoreError) in try index.catalogue().partials.all() }
        let paths = test.store.paths
        for row in rows {
            if row.key.value == "killed" {
                try FileManager.default.createDirectory(
                    atPath: paths.folder(Paths.folderNumber(of: row.id)), withIntermediateDirectories: true)
                #expect(rename(paths.data(row.id), paths.body(row.id)) == 0)
            } else if row.key.value == "damaged record" {
                #expect(truncate(paths.record(row.id, claim: row.claim), 70) == 0)
            } else {
                #expect(unlink(paths.record(row.id, claim: row.claim)) == 0)
            }
        }
        try await test.store.sweep()
        #expect(try test.store.partials().map(\.key.value) == ["killed"])
        #expect(DiskUsage.files(at: "\(test.path)/partials").count == 2)
        #expect(DiskUsage.files(at: "\(test.path)/bodies").isEmpty)
        #expect(try test.store.beginBody(for: EntryKey("killed")).held?.missing == [])
    }

    @Test func `partials whose rows were lost are recovered and resumed`() async throws {
        let test = try StoreUnderTest()
        let body = pattern(3 * block)
        let writer = try test.store.beginBody(for: EntryKey("k"))
        try writer.start(header: [3], total: Int64(body.count))
        try writer.write(body[..<(2 * block)])
        try writer.keep()
        try test.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.execute("DELETE FROM partials; UPDATE totals SET partials = 0")
        }
        #expect(try test.store.partial(for: EntryKey("k")) == nil)
        #expect(try await test.store.sweep()?.adopted == 1)
        let next = try test.store.beginBody(for: EntryKey("k"))
        #expect(next.held?.bytesHeld == Int64(2 * block))
        #expect(next.held?.header == [3])
        try next.resume(at: Int64(2 * block))
        try next.write(body[(2 * block)...])
        _ = try next.commit(NewEntry(key: EntryKey("k"), url: "", metadata: []))
        #expect(try test.store.read("k") == body)
    }

    @Test func `the files of many lost partials are deleted in short transactions`() throws {
        let test = try StoreUnderTest()
        let paths = test.store.paths
        let batch = try test.store.withIndex { (index) throws(StoreError) in Int(index.budget.evictionBatch) }
        try FileManager.default.createDirectory(atPath: paths.partials, withIntermediateDirectories: true)
        for number in 0..<Int64(2 * batch + 1) {
            try Data([1]).write(to: URL(filePath: paths.data((1 << 40) + number)))
        }
        let seen = try test.store.transactions {
            let swept = try test.store.withIndex { (index) throws(StoreError) in
                var result = SweepResult()
                try index.sweepPartials(&result)
                return result
            }
            #expect(swept.orphans == 2 * batch + 1)
        }
        #expect(seen.count == 3)
        #expect(DiskUsage.files(at: paths.partials).isEmpty)
    }

    @Test
    func `a sweep deletes idle partials past their lifetime, and keeps those in use`() async throws {
        let test = try StoreUnderTest()
        for name in ["idle", "busy"] {
            let writer = try test.store.beginBody(for: EntryKey(name))
            try writer.start(header: [], total: Int64(3 * block))
            try writer.write(pattern(block))
            if name == "idle" { try writer.keep() }
            if name == "busy" {
                test.clock.advance(6 * 24 * 3600)
                try await test.store.sweep()
                #expect(try test.store.partial(for: EntryKey("idle")) != nil)
                test.clock.advance(2 * 24 * 3600)
                try await test.store.sweep()
                #expect(try test.store.partial(for: EntryKey("idle")) == nil)
                #expect(try test.store.partial(for: EntryKey("busy"))?.isInUse == true)
                try writer.keep()
            }
        }
    }

    /// Begins a partial of 40 blocks, and leaves it with one block as a kill does.
    private func leaveByKill(_ key: String, in store: DiskStore) throws {
        let writer = try store.beginBody(for: EntryKey(key))
        try writer.start(header: [1], total: Int64(40 * block))
        try writer.write(pattern(block))
    }

    private func reserved(_ store: DiskStore) throws -> [String: Int64] {
        let rows = try store.withIndex { (index) throws(StoreError) in try index.catalogue().partials.all() }
        #expect(try store.statistics().partialBytes == rows.reduce(0) { $0 + $1.reserved })
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.key.value, $0.reserved) })
    }

    @Test(arguments: ["sweep", "next process"])
    func `a download that was killed keeps only the space of its files`(how: String) async throws {
        let test = try StoreUnderTest(capacity: 32 << 20)
        try leaveByKill("killed", in: test.store)
        let busy = try test.store.beginBody(for: EntryKey("busy"))
        try busy.start(header: [1], total: Int64(40 * block))
        try busy.write(pattern(block))
        let before = try reserved(test.store)
        #expect(try #require(before["killed"]) > Int64(40 * block))
        let next = try test.again()
        if how == "sweep" { try await next.sweep() } else { try next.put("k", [1]) }
        let after = try reserved(next)
        #expect(after["busy"] == before["busy"])
        #expect(try #require(after["killed"]) < Int64(2 * block))
        // Neither a second one, nor its writer, changes what is right.
        try await test.store.sweep()
        #expect(try reserved(next) == after)
        try busy.keep()
        let kept = try reserved(next)
        try await next.sweep()
        #expect(try reserved(next) == kept)
        let folder = FileStatus(at: test.store.paths.partials)?.allocated ?? 0
        #expect(kept.values.reduce(0, +) >= DiskUsage.bytes(at: test.path + "/partials") - folder)
        // It is resumed, and has the space of the whole body again.
        let body = pattern(40 * block)
        let writer = try next.beginBody(for: EntryKey("killed"))
        #expect(writer.held?.bytesHeld == Int64(block))
        try writer.resume(at: Int64(block))
        try writer.write(body[block...])
        _ = try writer.commit(NewEntry(key: EntryKey("killed"), url: "", metadata: []))
        #expect(try next.read("killed") == body)
        #expect(try reserved(next)["killed"] == nil)
    }

    @Test func `a writer that claims a partial while it is swept keeps its reservation`() throws {
        let test = try StoreUnderTest(capacity: 32 << 20)
        let (other, next) = (try test.again(), try test.again())
        // It sweeps the partials before its first one only.
        try other.put("k", [1])
        try leaveByKill("killed", in: test.store)
        let before = try reserved(next)
        var claimed: BodyWriter?
        try next.withIndex { (index) throws(StoreError) in
            index.beforeChange = { () throws(StoreError) in
                index.beforeChange = nil
                claimed = try other.beginBody(for: EntryKey("killed"))
            }
            var result = SweepResult()
            try index.sweepPartials(&result)
        }
        let writer = try #require(claimed)
        #expect(try reserved(next) == before)
        #expect(writer.partial?.reserved == before["killed"])
        try writer.keep()
        #expect(try #require(try reserved(next)["killed"]) < Int64(2 * block))
    }

    @Test func `a sweep ends when its task is cancelled`() async throws {
        let test = try StoreUnderTest()
        try test.store.put("k", [1])
        let store = test.store
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await store.sweep()
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
    }

    @Test func `verifying finds changed, cut and deleted bodies, and removes them if asked to`() throws {
        let test = try StoreUnderTest()
        var expected: [String: EntryIntegrity] = [:]
        for (name, integrity) in [
            ("sound", EntryIntegrity.intact), ("changed", .corrupt), ("cut", .wrongLength(299_999)), ("gone", .missing),
        ] {
            let entry = try test.store.put(name, pattern(300_000))
            let path = test.store.paths.body(entry.id)
            expected[name] = integrity
            chmod(path, 0o600)
            switch name {
            case "changed":
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                try file.seek(toOffset: 270_000)
                try file.write(contentsOf: [pattern(300_000)[270_000] ^ 1])
            case "cut": truncate(path, 299_999)
            case "gone": unlink(path)
            default: break
            }
        }
        var found: [String: EntryIntegrity] = [:]
        let result = try test.store.verify { entry, integrity, _ in
            found[entry.key.value] = integrity
            return true
        }
        #expect(found == expected)
        #expect(result == VerifyResult(checked: 4, bytes: 1_200_000, failed: 3))
        #expect(try test.store.statistics().entries == 4)
        #expect(try test.store.verify(repair: true).failed == 3)
        #expect(try test.store.verify() == VerifyResult(checked: 1, bytes: 300_000, failed: 0))
    }
}

/// Leftovers of kills in the folder of partials are removed by the next process that writes.
@Suite(.timeLimit) struct LeftoverTests {
    @Test(arguments: ["store", "remove"])
    func `the next process that writes deletes unknown files among the partials`(how: String) throws {
        let test = try StoreUnderTest()
        try test.store.put("k", [1])
        let names = ["00000000000000aa.data", "00000000000000bb.0000000000000001.record", "00000000000000cc.small"]
        for name in names {
            try Data().write(to: URL(filePath: test.path + "/partials/" + name))
        }
        let next = try test.again()
        if how == "store" { try next.put("l", [1]) } else { try next.remove(EntryKey("k")) }
        #expect(DiskUsage.files(at: test.path + "/partials").isEmpty)
    }

    @Test func `many large partials in a small store block nothing, and the oldest are evicted first`() throws {
        let test = try StoreUnderTest(capacity: 16 << 20)
        for number in 0..<30 {
            let store = try test.again()
            let writer = try store.beginBody(for: EntryKey("p\(number)"))
            try writer.start(header: [1], total: 6 << 20)
            try writer.write(pattern(5 << 20))
            // Every second one is left by a kill.
            if number.isMultiple(of: 2) { try writer.keep() }
            test.clock.advance(1)
        }
        #expect(try test.store.partial(for: EntryKey("p29")) != nil)
        #expect(try test.store.partial(for: EntryKey("p0")) == nil)
        try test.again().put("whole", pattern(12 << 20))
        #expect(test.allocated <= 16 << 20)
    }
}
