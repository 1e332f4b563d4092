import Foundation
import Logging
import TestSupport
import Testing

@testable import DiskStore

private let secret = "Bearer-c2VjcmV0LXRva2Vu"

/// Takes the table of version 6 away.
let dropVersion6 = "DROP TRIGGER blocks_deleted; DROP TABLE blocks;"

/// Takes the tables and columns of version 4 and later ones away.
let dropVersion4 = """
    \(dropVersion6)
    DROP TABLE lists; DROP TABLE list_items; DROP TABLE list_records; DROP TABLE list_pending;
    DROP TABLE list_garbage; DROP TABLE list_totals; DROP TABLE pin_sets; DROP TABLE pins;
    DROP INDEX entries_by_expiry; DROP INDEX entries_by_version; DROP INDEX entries_by_value;
    DROP INDEX entries_by_sha256;
    ALTER TABLE entries DROP COLUMN expires; ALTER TABLE entries DROP COLUMN version;
    ALTER TABLE entries DROP COLUMN value_type; ALTER TABLE entries DROP COLUMN value_version;
    ALTER TABLE entries DROP COLUMN sha256;
    DROP INDEX access_by_sequence; ALTER TABLE access DROP COLUMN pinned;
    CREATE INDEX access_by_sequence ON access (sequence);
    """

/// Removes entries that vary, and partials whose header holds the secret.
private struct DroppingMigrator: EntryMigrating {
    func migrated(_ entry: NewEntry, from version: Int64) -> NewEntry? {
        guard version == 1, !entry.key.value.contains("drop") else { return nil }
        var entry = entry
        if entry.variant.contains(secret) {
            entry.variant = "hidden"
            entry.metadata = [9]
        }
        return entry
    }

    func keepsPartial(of key: EntryKey, header: [UInt8], from version: Int64) -> Bool {
        version == 1 && !String(decoding: header, as: UTF8.self).contains(secret)
    }
}

@Suite("An index of version 1", .timeLimit) struct MigrationTests {
    private let test: StoreUnderTest

    /// A store as version 1 left it: with secrets in rows, in the remains of deleted rows, in the log and in a partial.
    init() throws {
        test = try StoreUnderTest(capacity: 64 << 20)
        let store = test.store
        for number in 0..<40 {
            try store.put("plain \(number)", pattern(3000 + number), metadata: Array("metadata \(number)".utf8))
            try store.put(
                "secret \(number)", pattern(5000), variant: "authorization=\(secret)",
                metadata: Array("\(secret)\(number)".utf8))
        }
        for number in 0..<20 { try store.remove(EntryKey("secret \(number)")) }
        try store.put("drop", pattern(9000))
        for (key, header) in [("part", "clean"), ("secret part", secret)] {
            let writer = try store.beginBody(for: EntryKey(key))
            try writer.start(header: Array(header.utf8), total: 3 * BlockMap.blockSize)
            try writer.write(pattern(Int(2 * BlockMap.blockSize)))
            try writer.keep()
        }
        try store.withIndex { (index) throws(StoreError) in
            try index.flush()
            try index.catalogue().connection.execute(
                """
                PRAGMA secure_delete = OFF;
                BEGIN;
                \(dropVersion4)
                DROP TABLE holds;
                ALTER TABLE totals DROP COLUMN held;
                ALTER TABLE totals DROP COLUMN capacity;
                DROP TABLE settings;
                DROP INDEX entries_by_key;
                CREATE INDEX entries_by_key ON entries (key_hash);
                PRAGMA user_version = 1;
                COMMIT;
                """)
        }
        store.close()
        try Data("an older index with \(secret)".utf8).write(to: URL(filePath: test.path + "/index.sqlite.aside"))
    }

    private func opened() throws -> DiskStore {
        var configuration = StoreConfiguration(
            capacity: 64 << 20, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        configuration.minimumFreeSpace = 0
        configuration.clock = { [clock = test.clock] in clock.now }
        configuration.migrator = DroppingMigrator()
        return try DiskStore(directory: test.path, configuration: configuration)
    }

    /// The files that hold the secret.
    private func filesWithSecret() throws -> [String] {
        try DiskUsage.files(at: test.path).filter { name in
            try Data(contentsOf: URL(filePath: "\(test.path)/\(name)")).range(of: Data(secret.utf8)) != nil
        }
    }

    @Test func `an index of version 1 is migrated with the entries that are kept`() throws {
        let store = try opened()
        for number in 0..<40 { #expect(try store.read("plain \(number)") == pattern(3000 + number)) }
        let hidden = try #require(try store.entries(for: EntryKey("secret 30"), withAccess: true).first)
        #expect(hidden.variant == "hidden" && hidden.metadata == [9])
        #expect(hidden.accessSequence != nil)
        #expect(try store.statistics().entries == 60)
        #expect(try store.verify().failed == 0)
        try store.put("new", pattern(100))
        #expect(try test.again().read("new") == pattern(100))
    }

    @Test func `a migration leaves no byte of removed entries in the index, its log or the partials`() throws {
        #expect(try filesWithSecret().count >= 3)
        let store = try opened()
        #expect(try filesWithSecret() == [])
        #expect(try store.withIndex { (index) throws(StoreError) in try index.catalogue().setting(.scrub) } == nil)
        #expect(try store.withIndex { (index) throws(StoreError) in try index.catalogue().freePageCount() } == 0)
    }

    @Test func `a migration drops entries that the migrator does not keep, and a sweep frees their bytes`() async throws
    {
        let store = try opened()
        #expect(try !store.has("drop"))
        #expect(try store.partials().map(\.key.value) == ["part"])
        try await store.sweep()
        let statistics = try store.statistics()
        #expect(statistics.doomedBytes == 0)
        #expect(DiskUsage.files(at: test.path + "/bodies").count == 60)
        #expect(test.allocated <= statistics.usedBytes)
        #expect(try store.beginBody(for: EntryKey("part")).held?.bytesHeld == 2 * BlockMap.blockSize)
    }

    @Test func `the log of a migrated index is emptied by the next process if a reader prevents it at first`() throws {
        let reader = try Connection(path: test.path + "/index.sqlite", readOnly: true)
        try reader.execute("BEGIN; SELECT count(*) FROM entries;")
        var store = try opened()
        #expect(try store.withIndex { (index) throws(StoreError) in try index.catalogue().setting(.scrub) } == 1)
        #expect(try store.read("plain 1") == pattern(3001))
        try reader.execute("COMMIT")
        store.close()
        store = try opened()
        #expect(try filesWithSecret() == [])
        #expect(try store.withIndex { (index) throws(StoreError) in try index.catalogue().setting(.scrub) } == nil)
    }

    @Test func `a read-only store reads an index of version 1 without migrating it`() throws {
        var configuration = StoreConfiguration(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        configuration.isReadOnly = true
        let store = try DiskStore(directory: test.path, configuration: configuration)
        #expect(try store.read("plain 3") == pattern(3003))
        #expect(try Connection(path: test.path + "/index.sqlite").number("PRAGMA user_version") == 1)
    }

    @Test func `an index that several processes open at once is migrated only once`() async throws {
        let path = test.path
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask {
                    let store = try opened()
                    try store.put("of \(number)", pattern(100))
                }
            }
            try await group.waitForAll()
        }
        #expect(!DiskUsage.files(at: path).contains { $0.contains("aside") })
        let store = try opened()
        for number in 0..<4 { #expect(try store.has("of \(number)")) }
        #expect(try store.read("plain 39") == pattern(3039))
    }
}

@Suite struct SchemaTests {
    @Test func `every earlier version of the index has a migration step`() {
        for version in SchemaMigration.versions { #expect(SchemaMigration.steps[version] != nil) }
        #expect(SchemaMigration.versions.upperBound == Schema.version)
        #expect(Schema.readableVersions.upperBound == Schema.version)
    }

    @Test func `a migrated index has the tables of a new one`() throws {
        func schema(_ path: String) throws -> [String] {
            let connection = try Connection(path: path + "/index.sqlite", readOnly: true)
            let select = try connection.prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
            defer { select.finalize() }
            var all: [String] = []
            while try select.step() {
                all.append(select.text(0).filter { !$0.isWhitespace && $0 != "\"" })
            }
            return all.sorted()
        }
        let old = try StoreUnderTest()
        try old.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.execute(
                """
                \(dropVersion4)
                DROP TABLE holds; ALTER TABLE totals DROP COLUMN held; ALTER TABLE totals DROP COLUMN capacity;
                DROP TABLE settings; DROP INDEX entries_by_key; CREATE INDEX entries_by_key ON entries (key_hash);
                PRAGMA user_version = 1;
                """)
        }
        old.store.close()
        _ = try old.again()
        let new = try StoreUnderTest()
        #expect(try schema(old.path) == schema(new.path))
        withExtendedLifetime((old, new)) {}
    }
}
