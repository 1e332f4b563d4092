/// The ids of a list's current array, and of the next one, which is written next to it: see ``ListSchema``.
struct ListItemTable: StatementRunner {
    let connection: Connection

    /// An item's row as staging sees it.
    struct ItemRow {
        let item: Int64
        let position: Int64
        let age: Int64
        let modified: String
        let since: Int64
        let until: Int64

        fileprivate init(_ row: Statement) {
            item = row.integer(0)
            position = row.integer(1)
            age = row.integer(2)
            modified = row.text(3)
            since = row.integer(4)
            until = row.integer(5)
        }
    }

    func rows(_ id: String, ofList list: Int64) throws(StoreError) -> [ItemRow] {
        try rows(
            "SELECT item, position, age, modified, since, until FROM list_items WHERE list = ?1 AND id = ?2",
            { $0.bind(1, list).bind(2, id) }, row: ItemRow.init)
    }

    /// The current state of a listed id, or `nil` if it is no longer listed.
    func item(_ id: String, ofList list: Int64) throws(StoreError) -> ListedItem? {
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

    /// The newest modification time in a list, as the server wrote it, or empty if there is none.
    func newestModified(ofList list: Int64) throws(StoreError) -> String {
        try first(
            """
            SELECT i.modified FROM lists l CROSS JOIN list_items i
            WHERE l.id = ?1 AND i.list = l.id AND +i.since <= l.revision AND i.until > l.revision
            ORDER BY i.age, i.position LIMIT 1
            """, { $0.bind(1, list) }, row: { $0.text(0) }) ?? ""
    }

    func firstPosition(ofList list: Int64) throws(StoreError) -> Int64? {
        try first(
            "SELECT position FROM list_items WHERE list = ?1 ORDER BY position LIMIT 1", { $0.bind(1, list) },
            row: { $0.integer(0) })
    }

    func insert(_ item: ListedItem, list: Int64, position: Int64, since: Int64) throws(StoreError) {
        try run(
            """
            INSERT INTO list_items (list, id, numeric, position, age, modified, since, until)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """
        ) {
            $0.bind(1, list).bind(2, item.id).bind(3, item.isNumeric ? 1 : 0).bind(4, position).bind(5, item.age)
            $0.bind(6, item.modified).bind(7, since).bind(8, ListSchema.open)
        }
    }

    func end(_ item: Int64, at revision: Int64) throws(StoreError) {
        try run("UPDATE list_items SET until = ?2 WHERE item = ?1") { $0.bind(1, item).bind(2, revision) }
    }

    /// Rows in the order of their positions and numbers: an id that was moved has two.
    func rows(
        ofList list: Int64, after position: Int64, _ item: Int64, limit: Int64
    ) throws(StoreError) -> [ItemRow] {
        try rows(
            """
            SELECT item, position, age, modified, since, until FROM list_items
            WHERE list = ?1 AND (position, item) > (?2, ?3) ORDER BY position, item LIMIT ?4
            """, { $0.bind(1, list).bind(2, position).bind(3, item).bind(4, limit) }, row: ItemRow.init)
    }

    // MARK: Undoing

    /// Deletes some items of an array that was never activated. Returns false if there are no more.
    func deleteStaged(ofList list: Int64, since revision: Int64, limit: Int64) throws(StoreError) -> Bool {
        try run(
            """
            DELETE FROM list_items WHERE item IN (SELECT item FROM list_items WHERE list = ?1 AND since > ?2 LIMIT ?3)
            """
        ) { $0.bind(1, list).bind(2, revision).bind(3, limit) }
        return connection.changes > 0
    }

    /// Restores some items that were ended by an array that was never activated. Returns false if there are no more.
    func reopen(ofList list: Int64, until revision: Int64, limit: Int64) throws(StoreError) -> Bool {
        try run(
            """
            UPDATE list_items SET until = 9223372036854775807 WHERE item IN (
                SELECT item FROM list_items WHERE list = ?1 AND until > ?2 AND until < 9223372036854775807 LIMIT ?3)
            """
        ) { $0.bind(1, list).bind(2, revision).bind(3, limit) }
        return connection.changes > 0
    }

    // MARK: Remains of former arrays

    /// Items that a revision removed and that are in neither the current array nor a staged one.
    ///
    /// With `unlikely`, SQLite searches the index from the item on, and does not sort all that the revision removed for each page.
    ///
    /// - Parameter hasRemains: True for only those whose record, or place in the queue, still exists.
    func removed(
        fromList list: Int64, at revision: Int64, after item: Int64, hasRemains: Bool = false, limit: Int64
    ) throws(StoreError) -> [(item: Int64, listed: ListedItem)] {
        let remains =
            hasRemains
            ? """
            AND (EXISTS (SELECT 1 FROM list_records r WHERE r.list = i.list AND r.id = i.id)
                OR EXISTS (SELECT 1 FROM list_pending p WHERE p.list = i.list AND p.id = i.id))
            """ : ""
        return try rows(
            """
            SELECT i.item, i.id, i.numeric, i.modified, i.age FROM list_items i
            WHERE i.list = ?1 AND unlikely(i.until = ?2) AND i.until < 9223372036854775807 AND i.item > ?3
                AND NOT EXISTS (
                    SELECT 1 FROM lists l CROSS JOIN list_items n
                    WHERE l.id = i.list AND n.list = i.list AND n.id = i.id AND n.until > l.revision)
                \(remains)
            ORDER BY i.item LIMIT ?4
            """, { $0.bind(1, list).bind(2, revision).bind(3, item).bind(4, limit) },
            row: {
                (
                    $0.integer(0),
                    ListedItem(
                        id: $0.text(1), isNumeric: $0.integer(2) != 0, modified: $0.text(3), recency: -$0.integer(4))
                )
            })
    }

    /// Items that are in no array any more, up to a revision.
    func ended(inList list: Int64, upTo revision: Int64, limit: Int64) throws(StoreError) -> [(item: Int64, id: String)]
    {
        try rows(
            """
            SELECT item, id FROM list_items
            WHERE list = ?1 AND until <= ?2 AND until < 9223372036854775807 ORDER BY until LIMIT ?3
            """, { $0.bind(1, list).bind(2, revision).bind(3, limit) }, row: { ($0.integer(0), $0.text(1)) })
    }

    /// Returns true if the current array or a staged one contains the id.
    func contains(_ id: String, inList list: Int64) throws(StoreError) -> Bool {
        try first(
            """
            SELECT 1 FROM lists l CROSS JOIN list_items i
            WHERE l.id = ?1 AND i.list = l.id AND i.id = ?2 AND i.until > l.revision
            """, { $0.bind(1, list).bind(2, id) }, row: { _ in true }) ?? false
    }

    func delete(_ item: Int64) throws(StoreError) {
        try run("DELETE FROM list_items WHERE item = ?1") { $0.bind(1, item) }
    }
}

extension ListedItem {
    /// The newest first.
    var age: Int64 { recency == .min ? .max : -recency }
}
