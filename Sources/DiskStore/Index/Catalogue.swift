/// Typed statements on the tables of the index: the only folder that contains SQL.
///
/// A statement reads or writes rows and makes no decisions. Files, sums, transactions and decisions belong to the
/// callers.
struct Catalogue {
    let connection: Connection

    // MARK: Transactions

    func begin() throws(StoreError) { try run(.begin) }

    func beginReading() throws(StoreError) { try run(.beginReading) }

    func commit() throws(StoreError) { try run(.commit) }

    /// Rolls an open transaction back: after some errors (a full disk) SQLite has done so already.
    func rollBack() {
        if connection.isInTransaction { try? run(.rollback) }
    }

    // MARK: Totals

    func totals() throws(StoreError) -> Totals {
        guard let totals = try first(.totals, row: Totals.init) else {
            throw StoreError(.damaged, "the index has lost its totals", path: connection.path)
        }
        return totals
    }

    func save(_ totals: Totals) throws(StoreError) { try run(.saveTotals) { totals.bind(to: $0) } }

    // MARK: Folders

    /// The size with which a folder was counted.
    func size(ofFolder folder: Int64) throws(StoreError) -> Int64? {
        try first(.folder, { $0.bind(1, folder) }, row: { $0.integer(0) })
    }

    func save(size: Int64, ofFolder folder: Int64) throws(StoreError) {
        try run(.saveFolder) { $0.bind(1, folder).bind(2, size) }
    }

    // MARK: Settings

    /// The stored value; nil if there is none.
    func setting(_ setting: StoreSetting) throws(StoreError) -> Int64? { try number(named: setting.rawValue) }

    func number(named name: String) throws(StoreError) -> Int64? {
        try first(.setting, { $0.bind(1, name) }, row: { $0.integer(0) })
    }

    /// Stores a value, or deletes it.
    func save(_ setting: StoreSetting, _ value: Int64?) throws(StoreError) {
        try save(value, named: setting.rawValue)
    }

    func save(_ number: Int64?, named name: String) throws(StoreError) {
        if let number {
            try run(.saveSetting) { $0.bind(1, name).bind(2, number) }
        } else {
            try run(.deleteSetting) { $0.bind(1, name) }
        }
    }

    // MARK: Statements

    func run(_ query: Query, _ bind: (Statement) -> Void = { _ in }) throws(StoreError) {
        let statement = try connection.prepared(query)
        bind(statement)
        try statement.run()
    }

    /// The first row of a query; nil if there is none.
    func first<Row>(
        _ query: Query, _ bind: (Statement) -> Void = { _ in }, row: (Statement) -> Row
    ) throws(StoreError) -> Row? {
        let statement = try connection.prepared(query)
        bind(statement)
        defer { statement.reset() }
        return try statement.step() ? row(statement) : nil
    }

    /// Deletes a row by its number.
    ///
    /// Selected and deleted instead of `DELETE … RETURNING`, for whose rows SQLite makes a temporary table.
    ///
    /// - Parameter size: The query for a size in the row.
    /// - Returns: That size; nil if there was no row.
    func delete(_ query: Query, _ id: Int64, size: Query) throws(StoreError) -> Int64? {
        guard let bytes = try first(size, { $0.bind(1, id) }, row: { $0.integer(0) }) else { return nil }
        try run(query) { $0.bind(1, id) }
        return bytes
    }

    func all<Row>(
        _ query: Query, _ bind: (Statement) -> Void = { _ in }, row: (Statement) -> Row
    ) throws(StoreError) -> [Row] {
        let statement = try connection.prepared(query)
        bind(statement)
        defer { statement.reset() }
        var rows: [Row] = []
        while try statement.step() { rows.append(row(statement)) }
        return rows
    }
}

/// A setting that the store keeps about itself, as a number.
enum StoreSetting: String {
    /// 1 while the index or its log may still contain pages that a migration has replaced.
    case scrub
}

/// Statements whose SQL text is written next to the row types that they return.
extension Catalogue {
    func run(_ sql: String, _ bind: (Statement) -> Void = { _ in }) throws(StoreError) {
        let statement = try connection.prepared(sql)
        bind(statement)
        try statement.run()
    }

    func first<Row>(
        _ sql: String, _ bind: (Statement) -> Void = { _ in }, row: (Statement) -> Row
    ) throws(StoreError) -> Row? {
        let statement = try connection.prepared(sql)
        bind(statement)
        defer { statement.reset() }
        return try statement.step() ? row(statement) : nil
    }

    func all<Row>(
        _ sql: String, _ bind: (Statement) -> Void = { _ in }, row: (Statement) -> Row
    ) throws(StoreError) -> [Row] {
        let statement = try connection.prepared(sql)
        bind(statement)
        defer { statement.reset() }
        var rows: [Row] = []
        while try statement.step() { rows.append(row(statement)) }
        return rows
    }
}

// The index as a file: its setup, its size, and its log.

extension Catalogue {
    /// The marks in the file's header: the application and the version.
    func marks() throws(StoreError) -> (application: Int64, version: Int64) {
        (try connection.number("PRAGMA application_id"), try connection.number("PRAGMA user_version"))
    }

    /// Configures a connection that writes.
    func configure() throws(StoreError) {
        try connection.execute(
            """
            PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;
            """)
    }

    /// Makes the tables in an empty database.
    func createTables(firstNumber: Int64, hasUncountedFiles: Bool) throws(StoreError) {
        try connection.execute(
            """
            PRAGMA auto_vacuum = INCREMENTAL;
            BEGIN IMMEDIATE;
            \(Schema.tables)
            INSERT INTO totals (
                id, entries, bodies, partials, doomed, folders, next_number, next_sequence, swept, has_strangers
            ) VALUES (1, 0, 0, 0, 0, 0, \(firstNumber), 1, 0, \(hasUncountedFiles ? 1 : 0));
            PRAGMA application_id = \(Schema.applicationID);
            PRAGMA user_version = \(Schema.version);
            COMMIT;
            """)
    }

    // MARK: Size

    func pageCount() throws(StoreError) -> Int64 { try first(.pageCount, row: { $0.integer(0) }) ?? 0 }

    func freePageCount() throws(StoreError) -> Int64 { try first(.freePages, row: { $0.integer(0) }) ?? 0 }

    /// Returns at most the given number of free pages to the disk. The file shrinks at the next checkpoint.
    func vacuum(pages: Int64) throws(StoreError) { try connection.execute("PRAGMA incremental_vacuum(\(pages))") }

    // MARK: Log

    /// The log's length, in pages, at which it is copied into the index, and to which its file is then truncated.
    func limitLog(pages: Int64) throws(StoreError) {
        try connection.execute(
            "PRAGMA wal_autocheckpoint = \(pages); PRAGMA journal_size_limit = \(pages * Budget.frame)")
    }

    /// Copies the log into the index as far as present readers allow, without waiting.
    func checkpoint() throws(StoreError) { try connection.execute("PRAGMA wal_checkpoint(PASSIVE)") }

    /// Copies the log into the index and empties it.
    ///
    /// - Returns: False if a reader keeps the log in use.
    @discardableResult
    func emptyLog() throws(StoreError) -> Bool { try connection.number("PRAGMA wal_checkpoint(TRUNCATE)") == 0 }
}
