/// The database of the index: its tables, each with its statements, and its settings.
struct Catalogue: StatementRunner {
    let connection: Connection

    var entries: EntryTable { EntryTable(connection: connection) }
    var blocks: BlockTable { BlockTable(connection: connection) }
    var deletedBodies: DeletedBodyTable { DeletedBodyTable(connection: connection) }
    var partials: PartialTable { PartialTable(connection: connection) }
    var holds: HoldTable { HoldTable(connection: connection) }
    var pins: PinTable { PinTable(connection: connection) }
    var lists: ListTable { ListTable(connection: connection) }
    var listItems: ListItemTable { ListItemTable(connection: connection) }
    var listRecords: ListRecordTable { ListRecordTable(connection: connection) }
    var pendingItems: PendingItemTable { PendingItemTable(connection: connection) }

    // MARK: Transactions

    func begin() throws(StoreError) { try run(.begin) }

    func beginReading() throws(StoreError) { try run(.beginReading) }

    func commit() throws(StoreError) { try run(.commit) }

    /// Rolls an open transaction back. After some errors, such as a full disk, SQLite has done so already.
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
}

/// A setting that the store keeps about itself, as a number.
enum StoreSetting: String {
    /// 1 while the index or its log may still contain pages that a migration has replaced.
    case scrub
}

// The index as a file: its setup, its size, and its log.

extension Catalogue {
    /// The marks in the file's header: the application and the version.
    func marks() throws(StoreError) -> (application: Int64, version: Int64) {
        (try connection.number("PRAGMA application_id"), try connection.number("PRAGMA user_version"))
    }

    /// Excludes other connections from the next statement on until ``configure(hasLog:)``. A database with a log can then be read without
    /// shared memory.
    func beginAlone() throws(StoreError) { try connection.execute("PRAGMA locking_mode = EXCLUSIVE") }

    /// Configures a connection that writes, and gives the database a log or a journal, if it has the other one.
    func configure(hasLog: Bool) throws(StoreError) {
        try connection.execute(
            """
            \(hasLog ? "PRAGMA journal_mode = WAL;" : "PRAGMA journal_mode = DELETE; PRAGMA locking_mode = NORMAL;")
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

    /// Copies the log into the index as far as current readers allow, without waiting.
    func checkpoint() throws(StoreError) { try connection.execute("PRAGMA wal_checkpoint(PASSIVE)") }

    /// Copies the log into the index and empties it.
    ///
    /// - Returns: False if a reader keeps the log in use.
    @discardableResult
    func emptyLog() throws(StoreError) -> Bool { try connection.number("PRAGMA wal_checkpoint(TRUNCATE)") == 0 }
}

extension Query {
    fileprivate static let begin: Query = "BEGIN IMMEDIATE"
    fileprivate static let beginReading: Query = "BEGIN"
    fileprivate static let commit: Query = "COMMIT"
    fileprivate static let rollback: Query = "ROLLBACK"
    fileprivate static let totals: Query = """
        SELECT entries, bodies, partials, doomed, folders, next_number, next_sequence, swept, has_strangers, held,
        capacity FROM totals WHERE id = 1
        """
    fileprivate static let saveTotals: Query = """
        UPDATE totals SET entries = ?1, bodies = ?2, partials = ?3, doomed = ?4, folders = ?5, next_number = ?6,
        next_sequence = ?7, swept = ?8, has_strangers = ?9, held = ?10, capacity = ?11 WHERE id = 1
        """
    fileprivate static let pageCount: Query = "PRAGMA page_count"
    fileprivate static let freePages: Query = "PRAGMA freelist_count"
    fileprivate static let folder: Query = "SELECT allocated FROM folders WHERE id = ?1"
    fileprivate static let saveFolder: Query = "INSERT OR REPLACE INTO folders (id, allocated) VALUES (?1, ?2)"
    fileprivate static let setting: Query = "SELECT value FROM settings WHERE name = ?1"
    fileprivate static let saveSetting: Query = "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)"
    fileprivate static let deleteSetting: Query = "DELETE FROM settings WHERE name = ?1"
}
