// The next array of a list, written next to the current one.

extension Catalogue {
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

    /// The token of the current sync, 0 if there is none, or `nil` if the list no longer exists.
    func staging(ofList list: Int64) throws(StoreError) -> Int64? {
        try first("SELECT staging FROM lists WHERE id = ?1", { $0.bind(1, list) }, row: { $0.integer(0) })
    }

    func saveStaging(_ token: Int64, ofList list: Int64) throws(StoreError) {
        try run("UPDATE lists SET staging = ?2 WHERE id = ?1") { $0.bind(1, list).bind(2, token) }
    }

    func itemRows(_ id: String, ofList list: Int64) throws(StoreError) -> [ItemRow] {
        try all(
            "SELECT item, position, age, modified, since, until FROM list_items WHERE list = ?1 AND id = ?2",
            { $0.bind(1, list).bind(2, id) }, row: ItemRow.init)
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

    /// Adds an id to the queue. An id that is queued already takes the new place and keeps the revision that it was queued for, in
    /// case the new array is not taken over.
    func insertPending(_ item: ListedItem, list: Int64, position: Int64, since: Int64) throws(StoreError) {
        try run(
            """
            INSERT INTO list_pending (list, attempts, age, position, id, since) VALUES (?1, 0, ?2, ?3, ?4, ?5)
            ON CONFLICT (list, id) DO UPDATE SET age = excluded.age, position = excluded.position,
                since = max(since, renewed), renewed = excluded.since
            """
        ) { $0.bind(1, list).bind(2, item.age).bind(3, position).bind(4, item.id).bind(5, since) }
    }

    /// Rows in the order of their positions and numbers: an id that was moved has two.
    func itemRows(
        ofList list: Int64, after position: Int64, _ item: Int64, limit: Int64
    ) throws(StoreError) -> [ItemRow] {
        try all(
            """
            SELECT item, position, age, modified, since, until FROM list_items
            WHERE list = ?1 AND (position, item) > (?2, ?3) ORDER BY position, item LIMIT ?4
            """, { $0.bind(1, list).bind(2, position).bind(3, item).bind(4, limit) }, row: ItemRow.init)
    }

    // MARK: Undoing

    /// Deletes some items of an array that was never activated. Returns false if there are no more.
    func deleteStagedItems(ofList list: Int64, since revision: Int64, limit: Int64) throws(StoreError) -> Bool {
        try run(
            """
            DELETE FROM list_items WHERE item IN (SELECT item FROM list_items WHERE list = ?1 AND since > ?2 LIMIT ?3)
            """
        ) { $0.bind(1, list).bind(2, revision).bind(3, limit) }
        return connection.changes > 0
    }

    /// Restores some items that were ended by an array that was never activated. Returns false if there are no more.
    func reopenItems(ofList list: Int64, until revision: Int64, limit: Int64) throws(StoreError) -> Bool {
        try run(
            """
            UPDATE list_items SET until = 9223372036854775807 WHERE item IN (
                SELECT item FROM list_items WHERE list = ?1 AND until > ?2 AND until < 9223372036854775807 LIMIT ?3)
            """
        ) { $0.bind(1, list).bind(2, revision).bind(3, limit) }
        return connection.changes > 0
    }

    /// Undoes a part of the queueing by an array that was never activated: removes ids, or their repeated requests. Returns false if there
    /// is no more.
    func undoPending(ofList list: Int64, since revision: Int64, limit: Int64) throws(StoreError) -> Bool {
        try run(
            """
            DELETE FROM list_pending WHERE list = ?1
            AND id IN (SELECT id FROM list_pending WHERE list = ?1 AND since > ?2 LIMIT ?3)
            """
        ) { $0.bind(1, list).bind(2, revision).bind(3, limit) }
        if connection.changes > 0 { return true }
        try run(
            """
            UPDATE list_pending SET renewed = 0 WHERE list = ?1
            AND id IN (SELECT id FROM list_pending WHERE list = ?1 AND renewed > ?2 LIMIT ?3)
            """
        ) { $0.bind(1, list).bind(2, revision).bind(3, limit) }
        return connection.changes > 0
    }

    func takeOver(
        list: Int64, revision: Int64, items: Int64, validator: String, checked: Int64
    ) throws(StoreError) {
        try run(
            "UPDATE lists SET revision = ?2, staging = 0, items = ?3, validator = ?4, checked = ?5 WHERE id = ?1"
        ) { $0.bind(1, list).bind(2, revision).bind(3, items).bind(4, validator).bind(5, checked) }
    }

    // MARK: Remains of former arrays

    /// Items that a revision removed, and that neither the present one nor a staged one has.
    func removed(
        fromList list: Int64, at revision: Int64, after item: Int64, limit: Int64
    ) throws(StoreError) -> [(item: Int64, listed: ListedItem)] {
        try all(
            """
            SELECT i.item, i.id, i.numeric, i.modified, i.age FROM list_items i
            WHERE i.list = ?1 AND i.until = ?2 AND i.until < 9223372036854775807 AND i.item > ?3
                AND NOT EXISTS (
                    SELECT 1 FROM lists l CROSS JOIN list_items n
                    WHERE l.id = i.list AND n.list = i.list AND n.id = i.id AND n.until > l.revision)
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

    /// Items that no array has any more, up to a revision.
    func ended(inList list: Int64, upTo revision: Int64, limit: Int64) throws(StoreError) -> [(item: Int64, id: String)]
    {
        try all(
            """
            SELECT item, id FROM list_items
            WHERE list = ?1 AND until <= ?2 AND until < 9223372036854775807 ORDER BY until LIMIT ?3
            """, { $0.bind(1, list).bind(2, revision).bind(3, limit) }, row: { ($0.integer(0), $0.text(1)) })
    }

    /// Returns true if the present array has the id, or a staged one.
    func isListed(_ id: String, inList list: Int64) throws(StoreError) -> Bool {
        try first(
            """
            SELECT 1 FROM lists l CROSS JOIN list_items i
            WHERE l.id = ?1 AND i.list = l.id AND i.id = ?2 AND i.until > l.revision
            """, { $0.bind(1, list).bind(2, id) }, row: { _ in true }) ?? false
    }

    func deleteItem(_ item: Int64) throws(StoreError) {
        try run("DELETE FROM list_items WHERE item = ?1") { $0.bind(1, item) }
    }
}

extension ListedItem {
    /// The newest first.
    var age: Int64 { recency == .min ? .max : -recency }
}
