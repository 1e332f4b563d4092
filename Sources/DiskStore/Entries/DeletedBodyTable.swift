/// The bodies that are no longer entries. Their files remain until their last reader has closed them.
struct DeletedBodyTable: StatementRunner {
    let connection: Connection

    func insert(_ id: Int64, allocated: Int64) throws(StoreError) {
        try run(.insertDoomed) { $0.bind(1, id).bind(2, allocated) }
    }

    /// - Returns: The number of bytes that the body occupied.
    func delete(_ id: Int64) throws(StoreError) -> Int64 {
        try delete(.deleteDoomed, id, size: .doomedSize) ?? 0
    }

    func contains(_ id: Int64) throws(StoreError) -> Bool {
        try first(.doomedSize, { $0.bind(1, id) }, row: { _ in true }) ?? false
    }

    func numbers(after id: Int64, limit: Int64) throws(StoreError) -> [Int64] {
        try rows(.doomed, { $0.bind(1, id).bind(2, limit) }) { $0.integer(0) }
    }
}

extension Query {
    fileprivate static let insertDoomed: Query = "INSERT OR REPLACE INTO doomed (id, allocated) VALUES (?1, ?2)"
    fileprivate static let doomedSize: Query = "SELECT allocated FROM doomed WHERE id = ?1"
    fileprivate static let deleteDoomed: Query = "DELETE FROM doomed WHERE id = ?1"
    fileprivate static let doomed: Query = "SELECT id FROM doomed WHERE id > ?1 ORDER BY id LIMIT ?2"
}
