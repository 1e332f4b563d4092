import Foundation
import Logging
import TestSupport
import Testing

@testable import DiskStore

/// The limits on entries: age, size and number, and what goes first.
@Suite(.timeLimit)
struct EntryLimitTests {
    private struct Limited {
        let directory: TestDirectory
        let clock = TestClock()
        let store: DiskStore

        init(capacity: Int64 = 64 << 20, _ change: (inout StoreConfiguration) -> Void) throws {
            directory = try TestDirectory()
            var configuration = StoreConfiguration(
                capacity: capacity, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            configuration.minimumFreeSpace = 0
            configuration.clock = { [clock] in clock.now }
            change(&configuration)
            store = try DiskStore(directory: directory.path("cache"), configuration: configuration)
        }

        @discardableResult
        func put(_ key: String, _ size: Int = 100, expires: Double? = nil, version: String? = nil) throws -> StoredEntry
        {
            var entry = NewEntry(key: EntryKey(key), url: "http://test/\(key)", metadata: [])
            entry.expires = expires.map { clock.now + $0 }
            entry.version = version
            return try store.writeWhole(key, pattern(size)).commit(entry).entry
        }
    }

    // MARK: Decisions

    @Test func `an entry ends with its expiry or with the greatest age, whichever comes first`() {
        let limits = EntryLimits(maxAge: 1000)
        #expect(limits.expiry(stored: 5000, expires: nil) == 6000)
        #expect(limits.expiry(stored: 5000, expires: 5500) == 5500)
        #expect(limits.expiry(stored: 5000, expires: 9000) == 6000)
        #expect(EntryLimits().expiry(stored: 5000, expires: 9000) == 9000)
        #expect(EntryLimits().expiry(stored: 5000, expires: nil) == nil)
    }

    @Test func `an entry from the future is not too old`() {
        let limits = EntryLimits(maxAge: 1000)
        #expect(!limits.isOver(stored: 5000, now: 6000))
        #expect(limits.isOver(stored: 5000, now: 6001))
        #expect(!limits.isOver(stored: 5000, now: 1))
        #expect(!EntryLimits().isOver(stored: 0, now: .max))
    }

    @Test func `the search for old entries ends at a batch without an old one`() {
        let limits = EntryLimits(maxAge: 10)
        #expect(limits.tooOld([(1, 0), (2, 95), (3, 1)], now: 100).ids == [1, 3])
        #expect(limits.tooOld([(1, 0), (2, 95)], now: 100).goesOn)
        #expect(!limits.tooOld([(2, 95)], now: 100).goesOn)
        #expect(!limits.tooOld([], now: 100).goesOn)
    }

    // MARK: Stores

    @Test func `an entry above the limit evicts expired entries first, then the longest unused`() throws {
        let test = try Limited { $0.maxEntries = 4 }
        try test.put("oldest")
        try test.put("expired", expires: 10)
        try test.put("fresh", expires: 1000)
        try test.put("confirmed")
        test.clock.advance(20)
        try test.put("fifth")
        #expect(
            try ["oldest", "expired", "fresh", "confirmed", "fifth"].filter { try test.store.has($0) } == [
                "oldest", "fresh", "confirmed", "fifth",
            ])
        try test.put("sixth")
        #expect(try !test.store.has("oldest"))
        #expect(try test.store.statistics().entries == 4)
        // Replacing an entry does not require an eviction.
        try test.put("sixth")
        #expect(try test.store.has("fresh"))
        #expect(test.store.evictions.count == 2)
    }

    @Test func `expired entries are evicted before fresh ones`() throws {
        let test = try Limited(capacity: 8 << 20) { _ in }
        for number in 0..<10 { try test.put("fresh \(number)", 300_000) }
        for number in 0..<10 { try test.put("expired \(number)", 300_000, expires: 10) }
        test.clock.advance(20)
        for number in 0..<9 { try test.put("new \(number)", 300_000) }
        #expect(try (0..<10).allSatisfy { try test.store.has("fresh \($0)") })
        #expect(try (0..<10).filter { try test.store.has("expired \($0)") }.count < 8)
    }

    @Test(arguments: [8e12, 1e13, 9.2e18, .infinity])
    func `an entry that expires later than the index can say does not expire`(lifetime: Double) throws {
        let test = try Limited(capacity: 8 << 20) { _ in }
        for number in 0..<10 { try test.put("far \(number)", 300_000, expires: lifetime) }
        for number in 0..<10 { try test.put("expired \(number)", 300_000, expires: 10) }
        test.clock.advance(20)
        for number in 0..<9 { try test.put("new \(number)", 300_000) }
        #expect(try (0..<10).allSatisfy { try test.store.has("far \($0)") })
    }

    @Test func `a body above the limit is refused, however its length becomes known`() throws {
        let test = try Limited { $0.maxEntrySize = 300_000 }
        try test.put("fits", 300_000)
        #expect(throws: StoreError.self) { try test.put("larger", 300_001) }
        let writer = try test.store.beginBody(for: EntryKey("growing"))
        try writer.start(header: [1], total: nil)
        do {
            try writer.write(pattern(600_000))
            _ = try writer.commit(NewEntry(key: EntryKey("growing"), url: "http://test/growing", metadata: []))
            Issue.record("was stored")
        } catch {
            #expect((error as? StoreError)?.code == .tooLarge)
        }
        let small = try Limited { $0.maxEntrySize = 100 }
        try small.put("fits", 100)
        #expect(throws: StoreError.self) { try small.put("larger", 101) }
    }

    @Test func `an entry above the maximum age is not found, and a sweep deletes it`() async throws {
        let test = try Limited { $0.maxAge = .seconds(100) }
        for number in 0..<5 { try test.put("old \(number)") }
        test.clock.advance(60)
        try test.put("young")
        #expect(try test.store.has("old 1"))
        test.clock.advance(60)
        #expect(try !test.store.has("old 1"))
        #expect(try test.store.has("young"))
        #expect(try test.store.statistics().entries == 6)
        try await test.store.sweep()
        #expect(try test.store.statistics().entries == 1)
        // After a step of the clock backwards nothing is too old.
        test.clock.advance(-100_000)
        #expect(try test.store.has("young"))
    }

    @Test func `a pinned entry is never too old, and one that is no longer pinned is`() async throws {
        let test = try Limited { $0.maxAge = .seconds(100) }
        for key in ["before", "other"] { try test.put(key) }
        let set = try test.store.savePinSet(
            NewPinSet(owner: "", name: "trip"),
            members: ["before", "after"].map { NewPin(key: EntryKey($0), url: "http://test/\($0)", request: []) })
        try test.put("after")
        func found() throws -> [String] {
            try ["before", "after", "other"].filter { key in
                let isFound = try test.store.has(key)
                // All ways to look up agree.
                #expect(try (test.store.entry(for: EntryKey(key), variant: "") != nil) == isFound)
                #expect(try test.store.entries(for: EntryKey(key)) { _ in "" }.isEmpty != isFound)
                #expect(try test.store.entries(for: [(EntryKey(key), { _ in "" })])[0].isEmpty != isFound)
                return isFound
            }
        }
        test.clock.advance(150)
        #expect(try found() == ["before", "after"])
        try await test.store.sweep()
        #expect(try found() == ["before", "after"])
        #expect(try test.store.statistics().entries == 2)
        #expect(try test.store.pinSet(set.set)?.present == 2)
        try test.store.removePinSet(set)
        #expect(try found().isEmpty)
        try await test.store.sweep()
        #expect(try test.store.statistics().entries == 0)
    }

    @Test func `the search for old entries goes on behind pinned ones`() async throws {
        let test = try Limited { $0.maxAge = .seconds(100) }
        let pinned = (0..<1030).map { "pinned \($0)" }
        for key in pinned + ["other"] { try test.put(key) }
        _ = try test.store.savePinSet(
            NewPinSet(owner: "", name: "trip"),
            members: pinned.map { NewPin(key: EntryKey($0), url: "http://test/\($0)", request: []) })
        test.clock.advance(150)
        try await test.store.sweep()
        #expect(try test.store.statistics().entries == 1030)
        #expect(try !test.store.has("other"))
    }

    @Test func `entries of other versions are removed, those without one stay`() throws {
        let test = try Limited { _ in }
        for number in 0..<250 { try test.put("one \(number)", version: "1") }
        try test.put("two", version: "2")
        try test.put("any")
        #expect(try test.store.removeVersions(except: "2") == 250)
        #expect(try test.store.has("two"))
        #expect(try test.store.has("any"))
        #expect(try test.store.removeVersions(except: "2") == 0)
    }

    @Test func `values of other versions of a type are removed, those of other types stay`() throws {
        let test = try Limited { _ in }
        func put(_ key: String, _ type: String?, _ version: String = "1") throws {
            var entry = NewEntry(key: EntryKey(key), url: "http://test/\(key)", metadata: [])
            entry.format = type.map { ValueFormat(type: $0, version: version) }
            _ = try test.store.writeWhole(key, pattern(100)).commit(entry)
        }
        for number in 0..<250 { try put("old \(number)", "User") }
        try put("new", "User", "2")
        try put("other", "Item")
        try put("file", nil)
        #expect(try test.store.removeFormats(except: ValueFormat(type: "User", version: "2")) == 250)
        for key in ["new", "other", "file"] { #expect(try test.store.has(key)) }
        #expect(try test.store.removeFormats(except: ValueFormat(type: "User", version: "2")) == 0)
    }

    @Test func `an entry is found by its digest, as long as it is there`() throws {
        let test = try Limited { _ in }
        let digest = [UInt8](repeating: 7, count: 32)
        var entry = NewEntry(key: EntryKey("a"), url: "http://test/a", metadata: [])
        entry.sha256 = digest
        let body = try test.store.writeWhole("a", pattern(100)).commit(entry)
        try test.put("b")
        #expect(try test.store.entries(sha256: digest).map(\.id) == [body.entry.id])
        #expect(try test.store.entries(sha256: [UInt8](repeating: 8, count: 32)).isEmpty)
        try test.store.remove(body.entry)
        #expect(try test.store.entries(sha256: digest).isEmpty)
    }
}
