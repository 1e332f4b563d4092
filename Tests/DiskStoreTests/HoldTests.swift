import Foundation
import Logging
import TestSupport
import Testing

@testable import DiskStore

/// Delivered entries are kept until the run ends.
@Suite(.timeLimit) struct HoldTests {
    private static let capacity: Int64 = 8 << 20

    /// A store on the test's directory that holds what it hands out, as another process's run would.
    private func run(on test: StoreUnderTest, capacity: Int64 = Self.capacity) throws -> DiskStore {
        var configuration = StoreConfiguration(
            capacity: capacity, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        configuration.minimumFreeSpace = 0
        configuration.holdsBodies = true
        return try DiskStore(directory: test.path, configuration: configuration)
    }

    /// Stores bodies until the store refuses one; the paths of those that it took.
    private func fill(_ store: DiskStore, size: Int = 200_000) throws -> (paths: [String], error: StoreError?) {
        var paths: [String] = []
        for number in 0..<100 {
            do throws(StoreError) {
                let writer = try store.beginBody(for: EntryKey("held\(number)"))
                try writer.start(header: [1], total: Int64(size))
                var failure: StoreError?
                pattern(size).withUnsafeBytes { bytes in
                    do throws(StoreError) { try writer.write(bytes) } catch { failure = error }
                }
                if let failure { throw failure }
                let entry = try writer.commit(NewEntry(key: EntryKey("held\(number)"), url: "", metadata: [])).entry
                paths.append(store.path(of: entry))
            } catch { return (paths, error) }
        }
        return (paths, nil)
    }

    private func areThere(_ paths: [String]) -> Bool { paths.allSatisfy { FileManager.default.fileExists(atPath: $0) } }

    @Test func `clearing a store keeps the bodies that a reader has open or a run holds`() throws {
        let test = try StoreUnderTest(capacity: Self.capacity)
        var entries: [StoredEntry] = []
        for number in 0..<100 { entries.append(try test.store.put("k\(number)", pattern(100 + number))) }
        let reader = try test.store.open(entries[40])
        let run = try run(on: test)
        // Held by the run, but not open.
        let isHeld = try run.open(entries[70]) != nil
        #expect(isHeld)
        #expect(try test.store.clear().entries == 100)
        let paths = entries.map { test.store.path(of: $0) }
        #expect(paths.indices.filter { FileManager.default.fileExists(atPath: paths[$0]) } == [40, 70])
        #expect(try reader?.all() == pattern(140))
        run.close()
        #expect(!areThere([paths[70]]))
    }

    @Test(arguments: [200_000, 600_000])
    func `bodies that a run stored stay, and a body without room is refused with the figures`(size: Int) throws {
        let test = try StoreUnderTest(capacity: Self.capacity)
        let store = try run(on: test)
        let (paths, error) = try fill(store, size: size)
        #expect(paths.count > 5)
        #expect(error?.code == .held)
        #expect(error?.message.contains("8.00 MiB") == true, "\(String(describing: error))")
        #expect(areThere(paths))
        #expect(test.allocated <= Self.capacity)
        // Neither does another process get at them.
        let refused = #expect(throws: StoreError.self) { try test.store.put("large", pattern(2 << 20)) }
        #expect(refused?.code == .held)
        #expect(areThere(paths))
        store.close()
        try test.store.put("large", pattern(2 << 20))
        #expect(!areThere(paths))
        #expect(test.allocated <= Self.capacity)
        #expect(try test.store.withIndex { (index) throws(StoreError) in try index.readTotals().held } == 0)
    }

    @Test func `entries are not evicted for a body that cannot be held`() throws {
        let test = try StoreUnderTest(capacity: Self.capacity)
        let store = try run(on: test)
        for number in 0..<15 { try store.put("held\(number)", pattern(200_000)) }
        for number in 0..<10 { try test.store.put("other\(number)", pattern(100_000)) }
        let error = #expect(throws: StoreError.self) { try store.put("large", pattern(6 << 20)) }
        #expect(error?.code == .held)
        for number in 0..<10 { #expect(try test.store.has("other\(number)")) }
    }

    @Test func `a body that another run is loading is not evicted to make room`() throws {
        let test = try StoreUnderTest(capacity: Self.capacity)
        let store = try run(on: test)
        try store.put("held", pattern(2 << 20))
        try test.store.put("other", pattern(100_000))
        let writer = try test.again().beginBody(for: EntryKey("loading"))
        try writer.start(header: [], total: 3 << 20)
        let error = #expect(throws: StoreError.self) { try store.put("large", pattern(3 << 20)) }
        #expect(error?.code == .held)
        #expect(error?.message.contains("downloads") == true)
        #expect(try test.store.has("other"))
        try writer.discard()
        try store.put("large", pattern(3 << 20))
    }

    @Test(arguments: ["replace", "remove", "clear", "prune", "sweep"])
    func `an entry that is removed while a run holds it keeps its file until the run ends`(how: String) async throws {
        let test = try StoreUnderTest(capacity: Self.capacity)
        let store = try run(on: test)
        let stored = try store.path(of: store.put("k", pattern(300_000)))
        try test.store.put("hit", pattern(1000))
        // Held because it was opened; it is no longer open.
        let hit = try #require(try store.entries(for: EntryKey("hit")).first)
        _ = try store.open(hit)
        let paths = [stored, store.path(of: hit)]
        func held() throws -> Int64 {
            try test.store.withIndex { (index) throws(StoreError) in try index.readTotals().held }
        }
        #expect(try held() == hit.allocated + Budget.rounded(300_000))
        for key in ["k", "hit"] {
            switch how {
            case "replace": try test.store.put(key, [1])
            case "remove": try test.store.remove(EntryKey(key))
            case "clear": try test.store.clear()
            case "prune": _ = try test.store.prune(to: 0)
            default:
                try test.store.remove(EntryKey(key))
                try await test.store.sweep()
            }
            #expect(areThere(paths), "\(key)")
        }
        // A doomed body does not count as held.
        #expect(try held() == 0)
        #expect(try test.store.statistics().doomedBytes == hit.allocated + Budget.rounded(300_000))
        store.close()
        #expect(paths.allSatisfy { !FileManager.default.fileExists(atPath: $0) })
        #expect(try test.store.statistics().doomedBytes == 0)
    }

    @Test func `a run that ended without closing holds nothing`() throws {
        let test = try StoreUnderTest(capacity: Self.capacity)
        let store = try run(on: test)
        let (paths, _) = try fill(store)
        // As a kill does it: the lock goes, the rows stay.
        try store.withIndex { (index) throws(StoreError) in
            #expect(try index.readTotals().held > 0)
            index.run = nil
        }
        try test.store.put("large", pattern(4 << 20))
        #expect(!areThere(paths))
        try test.store.withIndex { (index) throws(StoreError) in
            #expect(try index.catalogue().connection.number("SELECT count(*) FROM holds") < Int64(paths.count))
        }
    }

    @Test(arguments: [0, 1, 2, 3]) func `the holds of a run that ended are released in steps, which others continue`(
        limit: Int
    ) throws {
        let test = try StoreUnderTest(capacity: Self.capacity)
        let batch = try test.store.withIndex { (index) throws(StoreError) in Int(index.budget.evictionBatch) }
        let store = try run(on: test)
        for number in 0..<2 * batch + 1 { try store.put("held\(number)", pattern(100)) }
        try store.withIndex { (index) throws(StoreError) in index.run = nil }
        func held() throws -> Int64 {
            try test.store.withIndex { (index) throws(StoreError) in try index.readTotals().held }
        }
        if limit < 3 {
            #expect(throws: StoreError.self) {
                try test.store.transactions(limit: limit) { try test.store.releaseDeadRuns() }
            }
            #expect(try held() == Int64(2 * batch + 1 - limit * batch) * 4096)
        }
        let seen = try test.store.transactions { try test.store.releaseDeadRuns() }
        #expect(seen.mostInCall == 1 && seen.count == (limit < 3 ? 3 - limit : 3))
        #expect(try held() == 0)
        #expect(try test.store.has("held0"))
    }

    @Test func `a body that two runs hold stays until both have ended`() throws {
        let test = try StoreUnderTest(capacity: Self.capacity)
        let entry = try test.store.put("k", pattern(3 << 20))
        let runs = [try run(on: test), try run(on: test)]
        for store in runs { #expect(try store.open(entry) != nil) }
        func held() throws -> Int64 {
            try test.store.withIndex { (index) throws(StoreError) in try index.readTotals().held }
        }
        #expect(try held() == entry.allocated)
        runs[0].close()
        #expect(try held() == entry.allocated)
        _ = try? test.store.put("large", pattern(6 << 20))
        #expect(try test.store.has("k"))
        runs[1].close()
        #expect(try held() == 0)
        try test.store.put("large", pattern(6 << 20))
        #expect(try !test.store.has("k"))
    }
}
