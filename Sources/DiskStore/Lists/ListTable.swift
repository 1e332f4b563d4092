/// The tables of lists: ids that a server lists, and their records.
///
/// * `lists` has one row per list. `revision` is the current array of ids; `staging` is the token of the sync that prepares the next one,
///   or 0 if there is none; `change` counts the stored records.
/// * `list_items` has the ids. An item belongs to the revisions from `since` on, and before `until`. A new array is written next to the old
///   one in small transactions, and one change of `lists.revision` activates it, including removals. `age` orders the ids newest first: it
///   is the negated modification time, if the server sends it.
///   A `since` or `until` above `lists.revision`, except the `until` of `open`, is staged. Only the sync whose token is `staging` writes
///   such values, and the next sync undoes all of them before it writes its own. An id has at most one row for each `until`, and therefore
///   at most one current row.
///   Queries write `+since`, so that SQLite does not search by `list_items_by_since`. That index serves only the undoing: nearly all rows
///   of a list have a `since` of the past.
/// * `list_records` has the records, with `sort_key` as `ListSortKey` encodes it. If the revision does not contain an id, queries do not
///   return its record, and it is deleted later.
/// * `list_pending` has the ids whose records are to be fetched, least tried first, then newest first. `since` is the revision that
///   requested the record; `renewed` is a later one that requested it again, or 0. Both may be staged.
/// * `list_totals` estimates the size of all these tables in the index, which eviction cannot free. Triggers maintain it for every
///   deletion.
/// * `list_garbage` has the removed lists whose rows still exist.
enum ListSchema {
    /// The `until` of an item that is still listed.
    static let open = Int64.max

    static let tables = """
        CREATE TABLE lists (
            id INTEGER PRIMARY KEY,
            owner TEXT NOT NULL,
            list_group TEXT NOT NULL,
            name TEXT NOT NULL,
            revision INTEGER NOT NULL,
            staging INTEGER NOT NULL,
            change INTEGER NOT NULL,
            items INTEGER NOT NULL,
            checked INTEGER NOT NULL,
            validator TEXT NOT NULL
        );
        CREATE UNIQUE INDEX lists_by_name ON lists (owner, list_group, name);
        CREATE TABLE list_items (
            item INTEGER PRIMARY KEY,
            list INTEGER NOT NULL,
            id TEXT NOT NULL,
            numeric INTEGER NOT NULL,
            position INTEGER NOT NULL,
            age INTEGER NOT NULL,
            modified TEXT NOT NULL,
            since INTEGER NOT NULL,
            until INTEGER NOT NULL
        );
        CREATE UNIQUE INDEX list_items_by_id ON list_items (list, id, until);
        CREATE INDEX list_items_by_since ON list_items (list, since);
        CREATE INDEX list_items_by_position ON list_items (list, position);
        CREATE INDEX list_items_by_age ON list_items (list, age, position);
        CREATE INDEX list_items_ended ON list_items (list, until) WHERE until < 9223372036854775807;
        CREATE TABLE list_records (
            record INTEGER PRIMARY KEY,
            list INTEGER NOT NULL,
            id TEXT NOT NULL,
            modified TEXT NOT NULL,
            change INTEGER NOT NULL,
            sort_key BLOB NOT NULL,
            body BLOB NOT NULL
        );
        CREATE UNIQUE INDEX list_records_by_id ON list_records (list, id);
        CREATE INDEX list_records_by_key ON list_records (list, sort_key, id);
        CREATE INDEX list_records_by_change ON list_records (list, change);
        CREATE TABLE list_pending (
            list INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            age INTEGER NOT NULL,
            position INTEGER NOT NULL,
            id TEXT NOT NULL,
            since INTEGER NOT NULL,
            renewed INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (list, attempts, age, position, id)
        ) WITHOUT ROWID;
        CREATE UNIQUE INDEX list_pending_by_id ON list_pending (list, id);
        CREATE TABLE list_garbage (
            list INTEGER PRIMARY KEY
        );
        CREATE TABLE list_totals (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            bytes INTEGER NOT NULL
        );
        INSERT INTO list_totals (id, bytes) VALUES (1, 0);
        CREATE TRIGGER list_items_added AFTER INSERT ON list_items BEGIN
            UPDATE list_totals SET bytes = bytes + 160 + 3 * length(new.id);
        END;
        CREATE TRIGGER list_items_deleted AFTER DELETE ON list_items BEGIN
            UPDATE list_totals SET bytes = bytes - 160 - 3 * length(old.id);
        END;
        CREATE TRIGGER list_records_added AFTER INSERT ON list_records BEGIN
            UPDATE list_totals SET bytes = bytes + 160 + 3 * length(new.id) + length(new.sort_key) + length(new.body);
        END;
        CREATE TRIGGER list_records_deleted AFTER DELETE ON list_records BEGIN
            UPDATE list_totals SET bytes = bytes - 160 - 3 * length(old.id) - length(old.sort_key) - length(old.body);
        END;
        """
}

// Lists and the ids that they have.

extension Catalogue {
    private static let listColumns =
        "l.id, l.owner, l.list_group, l.name, l.revision, l.change, l.items, l.checked, l.validator"

    // MARK: Lists

    func list(_ name: ListName) throws(StoreError) -> ListState? {
        try first(
            "SELECT \(Self.listColumns) FROM lists l WHERE owner = ?1 AND list_group = ?2 AND name = ?3",
            { $0.bind(1, name.owner).bind(2, name.group).bind(3, name.name) }, row: ListState.init)
    }

    func list(_ id: Int64) throws(StoreError) -> ListState? {
        try first("SELECT \(Self.listColumns) FROM lists l WHERE id = ?1", { $0.bind(1, id) }, row: ListState.init)
    }

    func insertList(_ name: ListName, id: Int64) throws(StoreError) {
        try run(
            """
            INSERT INTO lists (id, owner, list_group, name, revision, staging, change, items, checked, validator)
            VALUES (?1, ?2, ?3, ?4, 0, 0, 0, 0, 0, '')
            """
        ) { $0.bind(1, id).bind(2, name.owner).bind(3, name.group).bind(4, name.name) }
    }

    /// All lists, by name.
    func lists() throws(StoreError) -> [ListState] {
        try all(
            "SELECT \(Self.listColumns) FROM lists l ORDER BY owner, list_group, name", row: ListState.init)
    }

    /// The lists of an owner, or of one of its groups.
    func lists(owner: String, group: String?) throws(StoreError) -> [Int64] {
        try all(
            "SELECT id FROM lists WHERE owner = ?1 AND (?2 = '' OR list_group = ?3)",
            { $0.bind(1, owner).bind(2, group == nil ? "" : "g").bind(3, group ?? "") }, row: { $0.integer(0) })
    }

    /// Takes a list's name away; its rows are garbage from then on.
    func discardList(_ id: Int64) throws(StoreError) {
        try run("DELETE FROM lists WHERE id = ?1") { $0.bind(1, id) }
        try run("INSERT OR IGNORE INTO list_garbage (list) VALUES (?1)") { $0.bind(1, id) }
    }

    func saveChecked(_ date: Int64, ofList id: Int64) throws(StoreError) {
        try run("UPDATE lists SET checked = ?2 WHERE id = ?1") { $0.bind(1, id).bind(2, date) }
    }

    /// The estimated size of all lists in the index.
    func listBytes() throws(StoreError) -> Int64 {
        try first("SELECT bytes FROM list_totals", row: { $0.integer(0) }) ?? 0
    }

    /// The newest modification time in a list, as the server wrote it, or empty if there is none.
    func newestModified(ofList list: Int64) throws(StoreError) -> String {
        try first(
            """
            SELECT i.modified FROM lists l CROSS JOIN list_items i
            WHERE l.id = ?1 AND i.list = l.id AND +i.since <= l.revision AND i.until > l.revision
            ORDER BY i.age, i.position LIMIT 1
            """, { $0.bind(1, list) }, row: { $0.text(0) }) ?? ""
    }

    // MARK: Garbage

    func garbageList() throws(StoreError) -> Int64? {
        try first("SELECT list FROM list_garbage LIMIT 1", row: { $0.integer(0) })
    }

    /// Deletes some rows of a removed list. Returns false if there are no more.
    func deleteGarbage(ofList id: Int64, limit: Int64) throws(StoreError) -> Bool {
        for (table, column) in [("list_items", "item"), ("list_records", "record")] {
            try run("DELETE FROM \(table) WHERE \(column) IN (SELECT \(column) FROM \(table) WHERE list = ?1 LIMIT ?2)")
            {
                $0.bind(1, id).bind(2, limit)
            }
            if connection.changes > 0 { return true }
        }
        try run(
            "DELETE FROM list_pending WHERE (list, id) IN (SELECT list, id FROM list_pending WHERE list = ?1 LIMIT ?2)"
        ) {
            $0.bind(1, id).bind(2, limit)
        }
        if connection.changes > 0 { return true }
        try run("DELETE FROM list_garbage WHERE list = ?1") { $0.bind(1, id) }
        return false
    }

    // MARK: Records

    func insertRecord(_ record: NewListRecord, list: Int64, change: Int64) throws(StoreError) {
        try deleteRecord(record.item.id, ofList: list)
        try run(
            "INSERT INTO list_records (list, id, modified, change, sort_key, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        ) {
            $0.bind(1, list).bind(2, record.item.id).bind(3, record.item.modified).bind(4, change)
            $0.bind(5, record.sortKey.bytes).bind(6, record.body)
        }
    }

    func deleteRecord(_ id: String, ofList list: Int64) throws(StoreError) {
        try run("DELETE FROM list_records WHERE list = ?1 AND id = ?2") { $0.bind(1, list).bind(2, id) }
    }

    func saveChange(_ change: Int64, ofList list: Int64) throws(StoreError) {
        try run("UPDATE lists SET change = ?2 WHERE id = ?1") { $0.bind(1, list).bind(2, change) }
    }

    /// The records that were stored after a change, in the order in which they were.
    func records(ofList list: Int64, afterChange change: Int64, limit: Int64) throws(StoreError) -> [StoredListRecord] {
        try all(
            """
            SELECT r.id, i.numeric, r.modified, r.body, r.change FROM lists l CROSS JOIN list_records r CROSS JOIN list_items i
            WHERE l.id = ?1 AND r.list = l.id AND r.change > ?2
                AND i.list = r.list AND i.id = r.id AND +i.since <= l.revision AND i.until > l.revision
            ORDER BY r.change LIMIT ?3
            """, { $0.bind(1, list).bind(2, change).bind(3, limit) }, row: StoredListRecord.init)
    }

    // MARK: Pending

    func pendingCount(ofList list: Int64) throws(StoreError) -> Int64 {
        // Without those that the present array removed, and whose records are still to be deleted.
        try first(
            """
            SELECT (SELECT count(*) FROM list_pending p WHERE p.list = l.id AND p.since <= l.revision) - (
                SELECT count(DISTINCT e.id) FROM list_items e CROSS JOIN list_pending p
                WHERE e.list = l.id AND e.until <= l.revision AND e.until < 9223372036854775807
                    AND p.list = e.list AND p.id = e.id AND p.since <= l.revision
                    AND NOT EXISTS (
                        SELECT 1 FROM list_items i
                        WHERE i.list = e.list AND i.id = e.id AND +i.since <= l.revision AND i.until > l.revision))
            FROM lists l WHERE l.id = ?1
            """, { $0.bind(1, list) }, row: { $0.integer(0) }) ?? 0
    }

    func pending(ofList list: Int64, after place: PendingPlace, limit: Int64) throws(StoreError) -> [PendingItem] {
        try all(
            """
            SELECT p.attempts, p.age, p.position, p.id, i.numeric, i.modified,
                CASE WHEN p.renewed <= l.revision THEN max(p.since, p.renewed) ELSE p.since END
            FROM lists l CROSS JOIN list_pending p CROSS JOIN list_items i
            WHERE l.id = ?1 AND p.list = l.id AND (p.attempts, p.age, p.position, p.id) > (?2, ?3, ?4, ?5)
                AND p.since <= l.revision
                AND i.list = p.list AND i.id = p.id AND +i.since <= l.revision AND i.until > l.revision
            ORDER BY p.attempts, p.age, p.position, p.id LIMIT ?6
            """,
            {
                $0.bind(1, list).bind(2, place.attempts).bind(3, place.age).bind(4, place.position).bind(5, place.id)
                $0.bind(6, limit)
            }, row: PendingItem.init)
    }

    /// The current state of a listed id, or `nil` if it is no longer listed.
    func listedItem(_ id: String, ofList list: Int64) throws(StoreError) -> ListedItem? {
        try first(
            """
            SELECT i.id, i.numeric, i.modified, i.age FROM lists l JOIN list_items i
            ON i.list = l.id AND i.id = ?2 AND +i.since <= l.revision AND i.until > l.revision WHERE l.id = ?1
            """, { $0.bind(1, list).bind(2, id) },
            row: {
                ListedItem(
                    id: $0.text(0), isNumeric: $0.integer(1) != 0, modified: $0.text(2), recency: -$0.integer(3))
            })
    }

    func deletePending(_ id: String, ofList list: Int64) throws(StoreError) {
        try run("DELETE FROM list_pending WHERE list = ?1 AND id = ?2") { $0.bind(1, list).bind(2, id) }
    }

    /// Removes an id from the queue after its record was stored. If a staged array has queued it again, it stays for that array.
    ///
    /// - Parameter revision: The revision that requested the record.
    /// - Returns: False if the id is not queued for that revision: it was settled, or queued again.
    func settlePending(_ id: String, ofList list: Int64, askedBy revision: Int64) throws(StoreError) -> Bool {
        let staged: Bool? = try first(
            """
            SELECT p.renewed > l.revision FROM lists l CROSS JOIN list_pending p
            WHERE l.id = ?1 AND p.list = l.id AND p.id = ?2 AND p.since <= l.revision
                AND CASE WHEN p.renewed <= l.revision THEN max(p.since, p.renewed) ELSE p.since END = ?3
            """, { $0.bind(1, list).bind(2, id).bind(3, revision) }, row: { $0.integer(0) != 0 })
        guard let staged else { return false }
        if staged {
            try run("UPDATE list_pending SET since = renewed, renewed = 0 WHERE list = ?1 AND id = ?2") {
                $0.bind(1, list).bind(2, id)
            }
        } else {
            try deletePending(id, ofList: list)
        }
        return true
    }

    /// Puts an id behind those that were tried less often.
    func notePendingAttempt(_ id: String, ofList list: Int64) throws(StoreError) {
        try run("UPDATE list_pending SET attempts = attempts + 1 WHERE list = ?1 AND id = ?2") {
            $0.bind(1, list).bind(2, id)
        }
    }

    /// Resets the attempts of some ids. Returns false if there are no more.
    func forgetAttempts(ofList list: Int64, limit: Int64) throws(StoreError) -> Bool {
        try run(
            """
            UPDATE list_pending SET attempts = 0 WHERE list = ?1
            AND id IN (SELECT id FROM list_pending WHERE list = ?1 AND attempts > 0 LIMIT ?2)
            """
        ) { $0.bind(1, list).bind(2, limit) }
        return connection.changes > 0
    }
}

extension ListState {
    fileprivate init(_ row: Statement) {
        self.init(
            list: row.integer(0), name: ListName(owner: row.text(1), group: row.text(2), name: row.text(3)),
            revision: row.integer(4), change: row.integer(5), items: row.integer(6), checked: row.integer(7),
            validator: row.text(8))
    }
}

extension StoredListRecord {
    init(_ row: Statement) {
        self.init(
            id: row.text(0), isNumeric: row.integer(1) != 0, modified: row.text(2), body: row.bytes(3),
            change: row.integer(4))
    }
}

extension PendingItem {
    fileprivate init(_ row: Statement) {
        item = ListedItem(
            id: row.text(3), isNumeric: row.integer(4) != 0, modified: row.text(5), recency: -row.integer(1))
        place = PendingPlace(
            attempts: row.integer(0), age: row.integer(1), position: row.integer(2), id: row.text(3))
        revision = row.integer(6)
    }
}
