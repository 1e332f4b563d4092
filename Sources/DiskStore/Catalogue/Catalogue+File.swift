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
