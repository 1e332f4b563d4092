/// The bodies that runs and pins hold.
struct HoldTable: StatementRunner {
    let connection: Connection

    func insert(_ id: Int64, run: Int64, allocated: Int64) throws(StoreError) {
        try self.run(.insertHold) { $0.bind(1, id).bind(2, run).bind(3, allocated) }
    }

    /// Deletes up to `limit` of a run's holds.
    func delete(ofRun run: Int64, limit: Int64) throws(StoreError) -> [(id: Int64, allocated: Int64)] {
        try rows(.deleteHolds, { $0.bind(1, run).bind(2, limit) }) { ($0.integer(0), $0.integer(1)) }
    }

    /// The runs that hold a body, including those that ended without releasing it.
    func holders(of id: Int64) throws(StoreError) -> [Int64] {
        try rows(.holders, { $0.bind(1, id) }) { $0.integer(0) }
    }

    func run(after last: Int64) throws(StoreError) -> Int64? {
        try first(.nextRun, { $0.bind(1, last) }, row: { $0.integer(0) })
    }

    func delete(_ id: Int64, run: Int64) throws(StoreError) -> Bool {
        try self.run("DELETE FROM holds WHERE entry = ?1 AND run = ?2") { $0.bind(1, id).bind(2, run) }
        return connection.changes > 0
    }

    /// Returns the number of bytes that pinned entries occupy on disk.
    func pinnedBytes() throws(StoreError) -> Int64 {
        try first(
            "SELECT ifnull(sum(allocated), 0) FROM holds WHERE run = ?1", { $0.bind(1, PinSchema.pinRun) },
            row: { $0.integer(0) }) ?? 0
    }
}

extension Query {
    fileprivate static let insertHold: Query = "INSERT OR IGNORE INTO holds (entry, run, allocated) VALUES (?1, ?2, ?3)"
    fileprivate static let deleteHolds: Query = """
        DELETE FROM holds WHERE run = ?1 AND entry IN (SELECT entry FROM holds WHERE run = ?1 LIMIT ?2)
        RETURNING entry, allocated
        """
    fileprivate static let holders: Query = "SELECT run FROM holds WHERE entry = ?1"
    fileprivate static let nextRun: Query = "SELECT run FROM holds WHERE run > ?1 ORDER BY run LIMIT 1"
}
