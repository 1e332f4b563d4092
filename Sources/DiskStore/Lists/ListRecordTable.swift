/// The order in which records are read.
package enum ListOrder: Sendable, Equatable {
    /// The order of the server's array.
    case array
    /// By modification time, the newest first, then in the order of the array.
    case newest
    case id
    case key
}

/// The position of a record in an order: the last record before the next page.
package enum ListPlace: Sendable, Equatable {
    case array(position: Int64)
    case newest(age: Int64, position: Int64)
    case id(String)
    case key(ListSortKey, id: String)
}

/// A page of records to be read.
package struct ListPageRequest: Sendable {
    package var order: ListOrder
    package var isDescending = false
    package var limit: Int
    package var after: ListPlace?
    /// The bounds of the ids or keys to read, both included, in the orders of ids and keys. Other orders ignore them.
    package var lower: ListPlace?
    package var upper: ListPlace?

    package init(order: ListOrder, limit: Int) {
        self.order = order
        self.limit = limit
    }
}

/// The records of lists: see ``ListSchema``.
struct ListRecordTable: StatementRunner {
    let connection: Connection

    func insert(_ record: NewListRecord, list: Int64, change: Int64) throws(StoreError) {
        try delete(record.item.id, ofList: list)
        try run(
            "INSERT INTO list_records (list, id, modified, change, sort_key, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        ) {
            $0.bind(1, list).bind(2, record.item.id).bind(3, record.item.modified).bind(4, change)
            $0.bind(5, record.sortKey.bytes).bind(6, record.body)
        }
    }

    func delete(_ id: String, ofList list: Int64) throws(StoreError) {
        try run("DELETE FROM list_records WHERE list = ?1 AND id = ?2") { $0.bind(1, list).bind(2, id) }
    }

    /// The records that were stored after a change, in the order of their changes.
    func records(ofList list: Int64, afterChange change: Int64, limit: Int64) throws(StoreError) -> [StoredListRecord] {
        try rows(
            """
            SELECT r.id, i.numeric, r.modified, r.body, r.change FROM lists l CROSS JOIN list_records r CROSS JOIN list_items i
            WHERE l.id = ?1 AND r.list = l.id AND r.change > ?2
                AND i.list = r.list AND i.id = r.id AND +i.since <= l.revision AND i.until > l.revision
            ORDER BY r.change LIMIT ?3
            """, { $0.bind(1, list).bind(2, change).bind(3, limit) }, row: StoredListRecord.init)
    }

    // MARK: Pages

    /// The SQL of a page: a search in one index from the position on, for any number of records.
    ///
    /// `+r.id` keeps SQLite from searching the items by the bounds of a page, for each record of it.
    static func pageQuery(_ request: ListPageRequest) -> Query {
        let (sign, direction) = request.isDescending ? ("<", "DESC") : (">", "ASC")
        let listed = "+i.since <= l.revision AND i.until > l.revision"
        let select =
            "SELECT r.id, i.numeric, r.modified, r.body, r.change, i.position, i.age, r.sort_key FROM lists l CROSS JOIN"
        let items = "\(select) list_items i CROSS JOIN list_records r WHERE l.id = ?1 AND i.list = l.id AND \(listed)"
        let records =
            """
            \(select) list_records r CROSS JOIN list_items i WHERE l.id = ?1 AND r.list = l.id
            AND i.list = r.list AND i.id = +r.id AND \(listed)
            """
        let joined = "AND r.list = i.list AND r.id = i.id"
        switch request.order {
        case .array: return "\(items) \(joined) AND i.position \(sign) ?3 ORDER BY i.position \(direction) LIMIT ?2"
        case .newest:
            return """
                \(items) \(joined) AND (i.age, i.position) \(sign) (?3, ?4)
                ORDER BY i.age \(direction), i.position \(direction) LIMIT ?2
                """
        case .id:
            let bounds =
                (request.lower == nil ? "" : " AND r.id >= ?5") + (request.upper == nil ? "" : " AND r.id <= ?6")
            let after = request.after == nil ? "" : " AND r.id \(sign) ?3"
            return "\(records)\(after)\(bounds) ORDER BY r.id \(direction) LIMIT ?2"
        case .key:
            let bounds =
                (request.lower == nil ? "" : " AND r.sort_key >= ?5")
                + (request.upper == nil ? "" : " AND r.sort_key <= ?6")
            let after = request.after == nil ? "" : " AND (r.sort_key, r.id) \(sign) (?3, ?4)"
            return "\(records)\(after)\(bounds) ORDER BY r.sort_key \(direction), r.id \(direction) LIMIT ?2"
        }
    }

    func page(ofList list: Int64, _ request: ListPageRequest) throws(StoreError) -> [(StoredListRecord, ListPlace)] {
        let ends: Int64 = request.isDescending ? .max : .min
        return try rows(
            Self.pageQuery(request),
            { statement in
                statement.bind(1, list).bind(2, Int64(request.limit))
                switch request.after {
                case .array(let position): statement.bind(3, position)
                case .newest(let age, let position): statement.bind(3, age).bind(4, position)
                case .id(let id): statement.bind(3, id)
                case .key(let key, let id): statement.bind(3, key.bytes).bind(4, id)
                case nil:
                    if request.order == .array || request.order == .newest { statement.bind(3, ends) }
                    if request.order == .newest { statement.bind(4, ends) }
                }
                if let lower = request.lower { statement.bind(5, bound: lower) }
                if let upper = request.upper { statement.bind(6, bound: upper) }
            },
            row: { row in
                let record = StoredListRecord(row)
                switch request.order {
                case .array: return (record, .array(position: row.integer(5)))
                case .newest: return (record, .newest(age: row.integer(6), position: row.integer(5)))
                case .id: return (record, .id(record.id))
                case .key: return (record, .key(ListSortKey(bytes: row.bytes(7)), id: record.id))
                }
            })
    }

    func record(_ id: String, ofList list: Int64) throws(StoreError) -> StoredListRecord? {
        try first(
            """
            SELECT r.id, i.numeric, r.modified, r.body, r.change FROM lists l CROSS JOIN list_records r CROSS JOIN list_items i
            WHERE l.id = ?1 AND r.list = l.id AND r.id = ?2
                AND i.list = r.list AND i.id = r.id AND +i.since <= l.revision AND i.until > l.revision
            """, { $0.bind(1, list).bind(2, id) }, row: StoredListRecord.init)
    }
}

extension Statement {
    fileprivate func bind(_ index: Int32, bound place: ListPlace) {
        switch place {
        case .id(let id): bind(index, id)
        case .key(let key, _): bind(index, key.bytes)
        case .array, .newest: break
        }
    }
}

extension StoredListRecord {
    init(_ row: Statement) {
        self.init(
            id: row.text(0), isNumeric: row.integer(1) != 0, modified: row.text(2), body: row.bytes(3),
            change: row.integer(4))
    }
}
