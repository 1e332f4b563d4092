/// The ids of lists whose records are missing or old: see ``ListSchema``.
struct PendingItemTable: StatementRunner {
    let connection: Connection

    /// Adds an id to the queue. An id that is queued already takes the new position and keeps the revision that it was queued for, in case the new
    /// array is not activated.
    func insert(_ item: ListedItem, list: Int64, position: Int64, since: Int64) throws(StoreError) {
        try run(
            """
            INSERT INTO list_pending (list, attempts, age, position, id, since) VALUES (?1, 0, ?2, ?3, ?4, ?5)
            ON CONFLICT (list, id) DO UPDATE SET age = excluded.age, position = excluded.position,
                since = max(since, renewed), renewed = excluded.since
            """
        ) { $0.bind(1, list).bind(2, item.age).bind(3, position).bind(4, item.id).bind(5, since) }
    }

    func count(ofList list: Int64) throws(StoreError) -> Int64 {
        // Without the ids that the current array removed and whose records are not deleted yet.
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

    func items(ofList list: Int64, after place: PendingPlace, limit: Int64) throws(StoreError) -> [PendingItem] {
        try rows(
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

    func delete(_ id: String, ofList list: Int64) throws(StoreError) {
        try run("DELETE FROM list_pending WHERE list = ?1 AND id = ?2") { $0.bind(1, list).bind(2, id) }
    }

    /// Removes an id from the queue after its record was stored. If a staged array has queued it again, it stays for that array.
    ///
    /// - Parameter revision: The revision that requested the record.
    /// - Returns: False if the id is not queued for that revision: it was settled, or queued again.
    func settle(_ id: String, ofList list: Int64, askedBy revision: Int64) throws(StoreError) -> Bool {
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
            try delete(id, ofList: list)
        }
        return true
    }

    /// Moves an id behind those with fewer attempts.
    func noteAttempt(_ id: String, ofList list: Int64) throws(StoreError) {
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

    /// Undoes a part of the queueing by an array that was never activated: removes ids, or their repeated requests. Returns false if there
    /// is no more.
    func undo(ofList list: Int64, since revision: Int64, limit: Int64) throws(StoreError) -> Bool {
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
