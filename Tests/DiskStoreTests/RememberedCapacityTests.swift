import Foundation
import Logging
import TestSupport
import Testing

@testable import DiskStore

/// The store remembers its capacity.
@Suite struct RememberedCapacityTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func open(_ capacity: Int64?, _ change: (inout StoreConfiguration) -> Void = { _ in }) throws -> DiskStore {
        var configuration = StoreConfiguration(
            capacity: capacity, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        configuration.minimumFreeSpace = 0
        change(&configuration)
        return try DiskStore(directory: directory.path("cache"), configuration: configuration)
    }

    @Test func `a store that is opened without a capacity keeps the one that it was last given`() throws {
        try open(48 << 20).close()
        let store = try open(nil)
        #expect(store.capacity == 48 << 20)
        #expect(store.capacityChange == nil)
        try open(32 << 20).close()
        #expect(try open(nil).capacity == 32 << 20)
        #expect(try open(nil) { $0.isReadOnly = true }.capacity == 32 << 20)
    }

    @Test func `opening without remembering or for reading only does not change the stored capacity`() throws {
        try open(48 << 20).close()
        #expect(try open(2 << 20) { $0.remembersCapacity = false }.capacity == 2 << 20)
        #expect(try open(3 << 20) { $0.isReadOnly = true }.capacity == 3 << 20)
        #expect(try open(nil).capacity == 48 << 20)
    }

    @Test func `a smaller capacity reports by how much it is exceeded, and that much is evicted`() throws {
        let large = try open(32 << 20)
        for number in 0..<40 { try large.put("k\(number)", pattern(400_000)) }
        large.close()
        let small = try open(8 << 20) { $0.minimumFreeSpace = 64 << 20 }
        let change = try #require(small.capacityChange)
        #expect(change.previous == 32 << 20)
        #expect(change.excess > 7 << 20)
        #expect(try small.statistics().entries == 40)
        let evicted = try small.keepWithinCapacity()
        #expect(evicted.bytes >= change.excess)
        #expect(evicted.entries + Int(try small.statistics().entries) == 40)
        #expect(DiskUsage.bytes(at: directory.path("cache")) <= 8 << 20)
        #expect(try small.keepWithinCapacity() == .nothing)
    }

    @Test func `an open store without its own capacity follows the one that another process sets`() throws {
        let running = try open(nil)
        try running.put("k", [1])
        try open(24 << 20).close()
        try running.put("l", [1])
        #expect(try running.read("l") == [1])
        #expect(running.capacity == 24 << 20)
        let own = try open(16 << 20)
        try open(64 << 20).close()
        try own.put("m", [1])
        #expect(try own.read("m") == [1])
        #expect(own.capacity == 16 << 20)
    }

    @Test func `the default capacity is 20 GiB, but at most half of the free space`() throws {
        let store = try open(nil)
        let statistics = try store.statistics()
        #expect(store.capacity <= 20 << 30)
        #expect(store.capacity == 20 << 30 || store.capacity <= statistics.freeSpace)
        // It is not remembered: it follows the disk.
        #expect(try store.withIndex { (index) throws(StoreError) in try index.readTotals().capacity } == 0)
    }

    // MARK: Indexes of the version before

    private func versionBefore() throws {
        let store = try open(16 << 20)
        try store.put("old", pattern(1000))
        try store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.execute(
                """
                \(dropVersion4)
                DROP TABLE holds;
                ALTER TABLE totals DROP COLUMN held; ALTER TABLE totals DROP COLUMN capacity;
                PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)
                """)
        }
        store.close()
    }

    @Test func `an index of the previous version is migrated and keeps its entries`() throws {
        try versionBefore()
        let store = try open(24 << 20)
        #expect(try store.read("old") == pattern(1000))
        try store.put("new", [1])
        #expect(try open(nil).capacity == 24 << 20)
        #expect(!FileManager.default.fileExists(atPath: directory.path("cache/index.sqlite.aside")))
    }

    @Test func `a read-only index of the previous version is read as it is`() throws {
        try versionBefore()
        let before = FileManager.default.contents(atPath: directory.path("cache/index.sqlite"))
        let store = try open(nil) { $0.isReadOnly = true }
        #expect(try store.read("old") == pattern(1000))
        #expect(try store.statistics().entries == 1)
        #expect(FileManager.default.contents(atPath: directory.path("cache/index.sqlite")) == before)
    }
}
