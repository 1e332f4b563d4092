import TestSupport
import Testing

@testable import DiskStore

@Suite("A list of version 4") struct ListMigrationTests {
    private let list: ListUnderTest

    /// Four ids with their records, in a store with the tables of version 4.
    init() throws {
        list = try ListUnderTest()
        try list.takeOver([("a", 1), ("b", 2), ("c", 3), ("d", 4)])
        try list.settleAll()
    }

    /// Reverts the tables to version 4, writes into them, and opens the store again.
    private func reopened(_ sql: String) throws -> ListUnderTest {
        try list.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.execute(
                """
                \(dropVersion6)
                DROP INDEX list_items_by_id; CREATE INDEX list_items_by_id ON list_items (list, id);
                DROP INDEX list_items_by_since; ALTER TABLE list_pending DROP COLUMN renewed;
                \(sql);
                PRAGMA user_version = 4;
                """)
        }
        list.store.close()
        var migrated = list
        migrated.migrated = try list.test.again()
        return migrated
    }

    private func insert(_ id: String, version: Int64, position: Int64, since: String, until: String) -> String {
        """
        INSERT INTO list_items (list, id, numeric, position, age, modified, since, until)
        SELECT id, '\(id)', 0, \(position), -\(version), '\(version)', \(since), \(until) FROM lists;
        """
    }

    @Test func `a sound list of version 4 stays as it is, and reads the whole next array`() throws {
        let list = try reopened("")
        #expect(try list.records() == ["a@1", "b@2", "c@3", "d@4"] && list.pending() == [])
        #expect(try list.state.items == 4 && list.state.validator == "")
        #expect(try list.takeOver([("a", 1), ("b", 2), ("c", 3), ("d", 4)]) == ListDifference())
    }

    @Test func `a list of version 4 lists an id once that a broken array left twice`() throws {
        let open = "9223372036854775807"
        let list = try reopened(
            insert("b", version: 9, position: 77, since: "revision", until: open)
                + "UPDATE lists SET items = 9")
        #expect(try list.state.items == 4)
        #expect(try list.pending() == ["b"])
        #expect(try list.records().sorted() == ["a@1", "b@2", "c@3", "d@4"])
        #expect(try list.takeOver([("a", 1), ("b", 9), ("d", 4)]) == ListDifference(added: 0, changed: 0, removed: 1))
        try list.settleAll()
        #expect(try list.records() == ["a@1", "b@9", "d@4"])
        #expect(try list.state.items == 3)
    }

    @Test func `a list of version 4 requests records again that are missing or older than its array`() throws {
        let list = try reopened(
            "UPDATE list_items SET modified = '8' WHERE id = 'c'; DELETE FROM list_records WHERE id = 'd'")
        #expect(Set(try list.pending()) == ["c", "d"])
    }

    @Test func `a list of version 4 drops an array that was still being written`() throws {
        let open = "9223372036854775807"
        let list = try reopened(
            insert("new", version: 9, position: 77, since: "revision + 1", until: open)
                + "UPDATE list_items SET until = 2 WHERE id = 'a';"
                + "INSERT INTO list_pending SELECT id, 0, -9, 77, 'new', revision + 1 FROM lists; UPDATE lists SET staging = 5"
        )
        #expect(try list.records() == ["a@1", "b@2", "c@3", "d@4"] && list.pending() == [])
        #expect(try list.takeOver([("a", 1), ("b", 2), ("c", 3), ("d", 4)]) == ListDifference())
    }

    @Test func `a list of version 4 drops records of unlisted ids with the next array`() throws {
        let list = try reopened("DELETE FROM list_items WHERE id = 'd'")
        try list.takeOver([("a", 1)])
        try list.takeOver([("a", 1)])
        let records = try list.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.number("SELECT count(*) FROM list_records")
        }
        #expect(records == 1)
    }
}
