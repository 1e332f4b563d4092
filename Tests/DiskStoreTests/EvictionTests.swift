import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

@testable import DiskStore

private let block = Int(BlockMap.blockSize)

@Suite struct EvictionTests {
    /// The keys that are there, the longest unused first.
    private func keys(_ store: DiskStore) throws -> [String] {
        var keys: [String] = []
        try store.list(by: .age) {
            keys.append($0.key.value)
            return true
        }
        return keys
    }

    @Test func `the longest unused entries are evicted first, down to 90 percent of the capacity`() throws {
        let test = try StoreUnderTest(capacity: 8 << 20)
        var stored = 0
        while try test.store.statistics().usedBytes < (8 << 20) - 250_000 {
            try test.store.put("k\(stored)", pattern(200_000))
            stored += 1
        }
        let used = try #require(try test.store.entries(for: EntryKey("k0")).first)
        try test.store.touch(used)
        for number in 0..<2 { try test.store.put("new\(number)", pattern(200_000)) }
        let left = try keys(test.store)
        #expect(left.contains("k0"))
        #expect(!left.contains("k1"))
        // The removed entries are consecutive from the oldest on, and at most the tenth to be freed.
        let numbers = left.filter { $0.hasPrefix("k") && $0 != "k0" }.compactMap { Int($0.dropFirst()) }
        #expect(numbers == Array((stored - numbers.count)..<stored))
        #expect(stored - numbers.count - 1 <= 8)
        #expect(left.suffix(3) == ["k0", "new0", "new1"])
    }

    @Test func `the order of use holds when the clock steps back`() throws {
        let test = try StoreUnderTest()
        for number in 0..<6 {
            try test.store.put("k\(number)", [UInt8(number)])
            test.clock.advance(-3600)
        }
        for number in [3, 0] {
            let entry = try #require(try test.store.entries(for: EntryKey("k\(number)")).first)
            test.clock.advance(-86_400)
            try test.store.touch(entry)
        }
        #expect(try keys(test.store) == ["k1", "k2", "k4", "k5", "k3", "k0"])
        let result = try test.store.prune(to: 2 * 4096)
        #expect(result.entries == 4)
        #expect(try keys(test.store) == ["k3", "k0"])
        let dates = try ["k3", "k0"].map {
            try #require(try test.store.entries(for: EntryKey($0), withAccess: true)[0].lastAccess)
        }
        #expect(dates[0] > dates[1])
    }

    @Test func `accesses are written in batches, at the latest when the store is closed`() throws {
        let test = try StoreUnderTest()
        let first = try test.store.put("a", [1])
        try test.store.put("b", [2])
        try test.store.touch(first)
        let other = try test.again()
        func sequence() throws -> Int64 {
            try #require(try other.entries(for: EntryKey("a"), withAccess: true)[0].accessSequence)
        }
        #expect(try sequence() == first.accessSequence)
        test.clock.advance(2)
        try test.store.touch(first)
        let before = try sequence()
        #expect(try before > #require(first.accessSequence))
        try test.store.touch(first)
        test.store.close()
        #expect(try sequence() > before)
    }

    @Test func `pending accesses are due when they are many, when they are old, and when the clock stepped back`() {
        var pending = PendingAccesses()
        #expect(!pending.isDue(at: 0))
        pending.note(1, at: 10_000)
        pending.note(2, at: 10_100)
        pending.note(1, at: 10_200)
        #expect(!pending.isDue(at: 10_999))
        #expect(pending.isDue(at: 11_000))
        #expect(pending.isDue(at: 9_999))
        #expect(pending.take().map(\.entry) == [2, 1])
        #expect(pending.isEmpty)
        for entry in 0..<Int64(PendingAccesses.limit) { pending.note(entry, at: 0) }
        #expect(pending.isDue(at: 0))
    }

    @Test
    func `a reader keeps a body that is evicted, replaced or cleared, and its bytes count until the reader closes`()
        throws
    {
        let test = try StoreUnderTest(capacity: 4 << 20)
        let body = pattern(300_000)
        for (number, take) in ["evict", "replace", "remove", "clear"].enumerated() {
            let entry = try test.store.put("k", body)
            var reader = try test.store.open(entry)
            switch take {
            case "evict": for other in 0..<30 { try test.store.put("o\(other)", pattern(200_000)) }
            case "replace": try test.store.put("k", [1])
            case "remove": try test.store.remove(EntryKey("k"))
            default: try test.store.clear()
            }
            #expect(try test.store.entries(for: EntryKey("k")).first?.id != entry.id, "\(take)")
            #expect(try test.store.statistics().doomedBytes >= 300_000, "\(take)")
            #expect(try reader?.all() == body, "\(take)")
            #expect(FileManager.default.fileExists(atPath: test.store.paths.body(entry.id)), "\(take)")
            reader = nil
            try test.store.clear()
            #expect(try test.store.statistics().doomedBytes == 0, "\(take) \(number)")
            #expect(!FileManager.default.fileExists(atPath: test.store.paths.body(entry.id)), "\(take)")
        }
    }

    @Test func `partials past their lifetime are evicted before any entry, unless they are in use`() throws {
        let test = try StoreUnderTest(capacity: 8 << 20)
        let idle = try test.store.beginBody(for: EntryKey("idle"))
        try idle.start(header: [], total: 1 << 20)
        try idle.write(pattern(1 << 19))
        try idle.keep()
        let busy = try test.store.beginBody(for: EntryKey("busy"))
        try busy.start(header: [], total: 1 << 20)
        try busy.write(pattern(1 << 19))
        test.clock.advance(8 * 24 * 3600)
        var stored = 0
        while try test.store.partial(for: EntryKey("idle")) != nil, stored < 100 {
            try test.store.put("k\(stored)", pattern(200_000))
            stored += 1
        }
        #expect(stored < 100)
        #expect(try test.store.has("k0"))
        for number in 0..<60 { try test.store.put("n\(number)", pattern(200_000)) }
        #expect(try test.store.partial(for: EntryKey("busy"))?.isInUse == true)
        try busy.write(pattern(1 << 19))
        _ = try busy.commit(NewEntry(key: EntryKey("busy"), url: "", metadata: []))
    }

    @Test func `young idle partials go only when no entry is left, the oldest first`() throws {
        let test = try StoreUnderTest(capacity: 8 << 20)
        for name in ["older", "younger"] {
            let writer = try test.store.beginBody(for: EntryKey(name))
            try writer.start(header: [], total: 2 << 20)
            try writer.write(pattern((2 << 20) - 1000))
            try writer.keep()
            test.clock.advance(60)
        }
        try test.store.put("entry", pattern(100_000))
        try test.store.put("large", pattern(4 << 20))
        #expect(try !test.store.has("entry"))
        #expect(try test.store.partial(for: EntryKey("older")) == nil)
        #expect(try test.store.partial(for: EntryKey("younger")) != nil)
    }

    /// Keeps a partial of two blocks.
    private func keepPartial(_ key: String, in store: DiskStore) throws {
        let writer = try store.beginBody(for: EntryKey(key))
        try writer.start(header: [1], total: Int64(4 * block))
        try writer.write(pattern(2 * block))
        try writer.keep()
    }

    @Test func `a partial from before the clock was set back reaches its lifetime after the next sweep`() async throws {
        let test = try StoreUnderTest()
        let year = 365.0 * 24 * 3600
        test.clock.advance(year)
        try keepPartial("future", in: test.store)
        test.clock.advance(-year)
        try keepPartial("present", in: test.store)
        for day in 0..<9 {
            try await test.store.sweep()
            let dates = try test.store.partials().map(\.updated)
            #expect(dates.count == (day < 8 ? 2 : 0), "after \(day) days")
            #expect(dates.allSatisfy { $0 <= test.clock.now })
            test.clock.advance(24 * 3600)
        }
    }

    @Test func `partials used in the last hour outlive entries from before the clock was set back`() throws {
        let test = try StoreUnderTest(capacity: 8 << 20)
        let year = 365.0 * 24 * 3600
        test.clock.advance(year)
        for number in 0..<10 { try test.store.put("k\(number)", pattern(200_000)) }
        test.clock.advance(-year)
        try keepPartial("old", in: test.store)
        test.clock.advance(3700)
        try keepPartial("young", in: test.store)
        var stored = 0
        while try test.store.has("k0"), stored < 100 {
            try test.store.put("n\(stored)", pattern(200_000))
            stored += 1
        }
        #expect(stored < 100)
        #expect(try test.store.partials().map(\.key.value) == ["young"])
    }

    @Test func `pruning by age follows dates, pruning by size follows the order of use, and a dry run changes nothing`()
        throws
    {
        let test = try StoreUnderTest()
        for number in 0..<10 {
            try test.store.put("k\(number)", pattern(4096))
            test.clock.advance(3600)
        }
        let age = Duration.seconds(5 * 3600 + 1800)
        #expect(try test.store.prune(olderThan: age, dryRun: true) == PruneResult(entries: 5, bytes: 5 * 4096))
        #expect(try keys(test.store).count == 10)
        #expect(try test.store.prune(olderThan: age) == PruneResult(entries: 5, bytes: 5 * 4096))
        #expect(try keys(test.store) == ["k5", "k6", "k7", "k8", "k9"])
        #expect(try test.store.prune(to: 2 * 4096) == PruneResult(entries: 3, bytes: 3 * 4096))
        #expect(try keys(test.store) == ["k8", "k9"])
        #expect(try test.store.prune(to: 0).entries == 2)
        #expect(try test.store.prune() == .nothing)
    }

    @Test func `an age to prune by may be a fraction of a second`() throws {
        let test = try StoreUnderTest()
        try test.store.put("k", pattern(10))
        test.clock.advance(0.5)
        #expect(try test.store.prune(olderThan: .milliseconds(900)) == .nothing)
        test.clock.advance(0.5)
        #expect(try test.store.prune(olderThan: .milliseconds(900)).entries == 1)
    }

    @Test(arguments: ["clear", "prune", "prune pinned"])
    func `many entries are removed in steps, between which others look up`(how: String) throws {
        let test = try StoreUnderTest()
        let keys = (0..<2300).map { "\($0)" }
        for key in keys { try test.store.put(key, pattern(10)) }
        let pinned = keys.filter { $0.hasSuffix("7") }
        _ = try test.store.savePinSet(
            NewPinSet(owner: "", name: "trip"),
            members: pinned.map { NewPin(key: EntryKey($0), url: "http://test/\($0)", request: []) })
        var result = PruneResult.nothing
        let seen = try test.store.transactions {
            switch how {
            case "clear": result = try test.store.clear(sparingPins: true)
            case "prune": result = try test.store.prune(to: 0)
            default: result = try test.store.prune(to: 0, sparingPins: false)
            }
        }
        // A step has 100 entries. For each part that fits the log, it marks them for deletion, and deletes the rows of the deleted files.
        let part = try test.store.withIndex { Int($0.budget.evictionBatch) }
        #expect(seen.mostInCall <= 2 * ((100 + part - 1) / part))
        #expect(seen.count >= 2 * 20)
        let left = how == "prune pinned" ? [] : pinned
        #expect(result.entries == keys.count - left.count)
        #expect(try keys.filter { try test.store.has($0) } == left)
    }

    @Test func `a pruning by size and age selects the same entries as the whole order of use does`() throws {
        let test = try StoreUnderTest()
        for number in 0..<1100 {
            try test.store.put("\(number)", pattern(10))
            if number == 1049 { test.clock.advance(1000) }
        }
        // The first of them is used again.
        let first = try #require(try test.store.entries(for: EntryKey("0")).first)
        try test.store.touch(first)
        #expect(try test.store.prune(olderThan: .seconds(500), dryRun: true).entries == 1049)
        let bytes = try test.store.statistics().bodyBytes
        #expect(try test.store.prune(to: bytes - 1001 * 4096).entries == 1001)
        #expect(try test.store.has("0") && !test.store.has("1001") && test.store.has("1002"))
    }

    @Test func `clearing removes also the entries that another process uses meanwhile`() throws {
        let test = try StoreUnderTest()
        for number in 0..<1200 { try test.store.put("\(number)", pattern(10)) }
        let other = try test.again()
        let entries = try (0..<1200).map { try other.entries(for: EntryKey("\($0)"))[0] }
        let hasUsed = Locked(false)
        try test.store.withIndex { (index) throws(StoreError) in
            index.beforeChange = { () throws(StoreError) in
                let isFirst = hasUsed.withLock { (hasUsed) -> Bool in
                    defer { hasUsed = true }
                    return !hasUsed
                }
                if !isFirst { return }
                try other.touch(entries)
                try other.flush()
            }
        }
        #expect(try test.store.clear().entries == 1200)
        #expect(try test.store.statistics().entries == 0)
    }

    @Test
    func `pruning to a size takes idle partials when the entries are not enough, and leaves those in use`() throws {
        let test = try StoreUnderTest()
        try test.store.put("entry", pattern(4096))
        for name in ["idle", "used"] {
            let writer = try test.store.beginBody(for: EntryKey(name))
            try writer.start(header: [1], total: 4 * BlockMap.blockSize)
            try writer.write(pattern(Int(BlockMap.blockSize) * 2))
            if name == "idle" {
                try writer.keep()
            } else {
                _ = try test.store.prune(to: 0)
                #expect(try test.store.partial(for: EntryKey("idle")) == nil)
                #expect(try test.store.partial(for: EntryKey("used")) != nil)
                try writer.discard()
            }
        }
        #expect(try keys(test.store).isEmpty)
    }
}
