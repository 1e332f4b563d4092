/// Version 2 to 3: adds the remembered capacity and the holds of runs.
extension SchemaMigration {
    static let capacityAndHolds = """
        ALTER TABLE totals ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE totals ADD COLUMN capacity INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE holds (
            entry INTEGER NOT NULL,
            run INTEGER NOT NULL,
            allocated INTEGER NOT NULL,
            PRIMARY KEY (entry, run)
        ) WITHOUT ROWID;
        CREATE INDEX holds_by_run ON holds (run);
        """

    /// A copy in memory of an earlier version's index that cannot be written, with the columns that this version
    /// queries.
    static func readableCopy(of connection: Connection, _ version: Int64) throws(StoreError) -> Connection {
        let copy = try connection.copyInMemory()
        if version < 3 { try copy.execute(capacityAndHolds) }
        if version < 4 { try copy.execute(version4) }
        if version < 5 { try copy.execute(version5) }
        return copy
    }
}
