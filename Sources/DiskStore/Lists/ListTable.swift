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

/// The lists: see ``ListSchema``.
struct ListTable: StatementRunner {
    let connection: Connection

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

    func insert(_ name: ListName, id: Int64) throws(StoreError) {
        try run(
            """
            INSERT INTO lists (id, owner, list_group, name, revision, staging, change, items, checked, validator)
            VALUES (?1, ?2, ?3, ?4, 0, 0, 0, 0, 0, '')
            """
        ) { $0.bind(1, id).bind(2, name.owner).bind(3, name.group).bind(4, name.name) }
    }

    /// All lists, by name.
    func all() throws(StoreError) -> [ListState] {
        try rows(
            "SELECT \(Self.listColumns) FROM lists l ORDER BY owner, list_group, name", row: ListState.init)
    }

    /// The lists of an owner, or of one of its groups.
    func lists(owner: String, group: String?) throws(StoreError) -> [Int64] {
        try rows(
            "SELECT id FROM lists WHERE owner = ?1 AND (?2 = '' OR list_group = ?3)",
            { $0.bind(1, owner).bind(2, group == nil ? "" : "g").bind(3, group ?? "") }, row: { $0.integer(0) })
    }

    /// Takes a list's name away; its rows are garbage from then on.
    func discard(_ id: Int64) throws(StoreError) {
        try run("DELETE FROM lists WHERE id = ?1") { $0.bind(1, id) }
        try run("INSERT OR IGNORE INTO list_garbage (list) VALUES (?1)") { $0.bind(1, id) }
    }

    func saveChecked(_ date: Int64, ofList id: Int64) throws(StoreError) {
        try run("UPDATE lists SET checked = ?2 WHERE id = ?1") { $0.bind(1, id).bind(2, date) }
    }

    /// The estimated size of all lists in the index.
    func bytes() throws(StoreError) -> Int64 {
        try first("SELECT bytes FROM list_totals", row: { $0.integer(0) }) ?? 0
    }

    func saveChange(_ change: Int64, ofList list: Int64) throws(StoreError) {
        try run("UPDATE lists SET change = ?2 WHERE id = ?1") { $0.bind(1, list).bind(2, change) }
    }

    // MARK: Syncs

    /// The token of the current sync, 0 if there is none, or `nil` if the list no longer exists.
    func staging(ofList list: Int64) throws(StoreError) -> Int64? {
        try first("SELECT staging FROM lists WHERE id = ?1", { $0.bind(1, list) }, row: { $0.integer(0) })
    }

    func saveStaging(_ token: Int64, ofList list: Int64) throws(StoreError) {
        try run("UPDATE lists SET staging = ?2 WHERE id = ?1") { $0.bind(1, list).bind(2, token) }
    }

    func takeOver(
        list: Int64, revision: Int64, items: Int64, validator: String, checked: Int64
    ) throws(StoreError) {
        try run(
            "UPDATE lists SET revision = ?2, staging = 0, items = ?3, validator = ?4, checked = ?5 WHERE id = ?1"
        ) { $0.bind(1, list).bind(2, revision).bind(3, items).bind(4, validator).bind(5, checked) }
    }

    // MARK: Garbage

    func garbage() throws(StoreError) -> Int64? {
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
}

extension ListState {
    fileprivate init(_ row: Statement) {
        self.init(
            list: row.integer(0), name: ListName(owner: row.text(1), group: row.text(2), name: row.text(3)),
            revision: row.integer(4), change: row.integer(5), items: row.integer(6), checked: row.integer(7),
            validator: row.text(8))
    }
}
