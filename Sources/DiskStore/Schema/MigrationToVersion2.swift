import Glibc

/// Version 1 to 2. Version 1 stored the request fields named by `Vary` in variants, metadata and partials' records as
/// plain text, including credentials.
///
/// The affected tables are copied and dropped instead of being updated in place: with `secure_delete` the pages of a
/// dropped table are overwritten, including remains of rows deleted earlier, which an UPDATE would leave. The disk
/// temporarily needs two to three times the index's size, memory only SQLite's page cache.
extension SchemaMigration {
    func hideSelectingFields() throws(StoreError) {
        try connection.execute(
            """
            ALTER TABLE entries RENAME TO old_entries;
            ALTER TABLE partials RENAME TO old_partials;
            DROP INDEX entries_by_key;
            DROP INDEX partials_by_key;
            CREATE TABLE entries (
                id INTEGER PRIMARY KEY, key_hash INTEGER NOT NULL, key TEXT NOT NULL, variant TEXT NOT NULL,
                url TEXT NOT NULL, size INTEGER NOT NULL, allocated INTEGER NOT NULL, checksum BLOB NOT NULL,
                boot INTEGER NOT NULL, created INTEGER NOT NULL, metadata BLOB NOT NULL
            );
            CREATE TABLE partials (
                id INTEGER PRIMARY KEY, claim INTEGER NOT NULL, key_hash INTEGER NOT NULL, key TEXT NOT NULL,
                reserved INTEGER NOT NULL, updated INTEGER NOT NULL
            );
            CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
            INSERT INTO settings VALUES ('scrub', 1);
            """)
        try copyEntries()
        try deletePartials()
        try connection.execute(
            """
            INSERT INTO partials SELECT id, claim, key_hash, key, reserved, updated FROM old_partials;
            DROP TABLE old_entries;
            DROP TABLE old_partials;
            CREATE INDEX entries_by_key ON entries (key_hash, variant);
            CREATE INDEX partials_by_key ON partials (key_hash);
            DELETE FROM access WHERE entry NOT IN (SELECT id FROM entries);
            UPDATE totals SET
                entries = (SELECT count(*) FROM entries),
                bodies = (SELECT ifnull(sum(allocated), 0) FROM entries),
                partials = (SELECT ifnull(sum(reserved), 0) FROM partials),
                doomed = (SELECT ifnull(sum(allocated), 0) FROM doomed);
            """)
        try connection.execute("PRAGMA incremental_vacuum")
    }

    /// Copies the entries that the migrator keeps. The others are marked for deletion by the next sweep.
    private func copyEntries() throws(StoreError) {
        let columns = "id, key_hash, key, variant, url, size, allocated, checksum, boot, created, metadata"
        guard let migrator else {
            return try connection.execute("INSERT INTO entries SELECT \(columns) FROM old_entries")
        }
        let select = try connection.prepare("SELECT \(columns) FROM old_entries")
        defer { select.finalize() }
        let insert = try connection.prepare("INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")
        defer { insert.finalize() }
        let markDeleted = try connection.prepare("INSERT OR REPLACE INTO doomed (id, allocated) VALUES (?1, ?2)")
        defer { markDeleted.finalize() }
        while try select.step() {
            let old = NewEntry(
                key: EntryKey(select.text(2)), variant: select.text(3), url: select.text(4), metadata: select.bytes(10))
            guard let new = migrator.migrated(old, from: 1), new.key == old.key else {
                try markDeleted.bind(1, select.integer(0)).bind(2, select.integer(6)).run()
                continue
            }
            insert.bind(1, select.integer(0)).bind(2, select.integer(1)).bind(3, new.key.value).bind(4, new.variant)
            insert.bind(5, new.url).bind(6, select.integer(5)).bind(7, select.integer(6)).bind(8, select.checksum(7))
            try insert.bind(9, select.integer(8)).bind(10, select.integer(9)).bind(11, new.metadata).run()
        }
    }

    /// Deletes the files and rows of the partials that the migrator does not keep, including those without rows.
    private func deletePartials() throws(StoreError) {
        guard let migrator else { return }
        let delete = try connection.prepare("DELETE FROM old_partials WHERE id = ?1")
        defer { delete.finalize() }
        var records: [(id: Int64, path: String)] = []
        try forEachName(in: paths.partials) { name in
            if case .record(let id, _) = PartialFile(name: name) { records.append((id, "\(paths.partials)/\(name)")) }
        }
        for (id, path) in records {
            let file = try? File(path, O_RDONLY)
            if let file, let record = try PartialRecord(reading: file),
                migrator.keepsPartial(of: record.key, header: record.header, from: 1)
            {
                continue
            }
            unlink(path)
            unlink(paths.data(id))
            try delete.bind(1, id).run()
        }
    }
}
